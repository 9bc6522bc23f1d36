/* SPDX-License-Identifier: BSD-3-Clause */
/* opens: a C program that opens a libpmix for all to see, as Slurm's daemons do, and then a plug-in that is linked to
 * none. usage: opens LIBRARY PLUGIN     under pmixrun; the plug-in's runtime_main decides the exit status */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int (*run)(void) = NULL;
    void* plugin = NULL;
    if (argc == 3 && dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL)) plugin = dlopen(argv[2], RTLD_LAZY);
    if (plugin) *(void**)&run = dlsym(plugin, "runtime_main");
    if (!run) {
        printf("FAIL %s\n", argc == 3 ? dlerror() : "usage: opens LIBRARY PLUGIN");
        return 1;
    }
    return run();
}
