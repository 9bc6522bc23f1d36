/* SPDX-License-Identifier: BSD-3-Clause */
/* Data Structures and Types: lists of infos, argument arrays, arrays of data, environment variables. */
#include "check.h"

#define LISTS "Data Structures and Types / Info structure lists"
#define ARGV "Data Structures and Types / Argument Array Functions"
#define ARRAYS "Data Structures and Types / Data Array Structure"
#define ENVARS "Data Structures and Types / PMIx_Setenv"

__attribute__((constructor)) static void need_library(void) {
    rows_need_library = true;
}

#ifdef HAVE_PMIx_Info_list_start
static void* list_of(int count) {
    void* list = PMIx_Info_list_start();
    EXPECT(list != NULL);
    for (int i = 0; i < count; ++i) {
        char key[20];
        snprintf(key, sizeof(key), "key%d", i);
        EXPECT_OK(PMIx_Info_list_add(list, key, &i, PMIX_INT));
    }
    return list;
}
static pmix_info_t* converted(void* list, size_t count, pmix_data_array_t* array) {
    EXPECT_OK(PMIx_Info_list_convert(list, array));
    EXPECT_INT(PMIX_INFO, array->type);
    EXPECT_INT(count, array->size);
    return array->array;
}

ROW(list_order, LISTS, "The array of a list has the infos in the order in which they were added") {
    pmix_data_array_t array = {PMIX_UNDEF, 0, NULL};
    void* list = list_of(5);
    pmix_info_t* infos = converted(list, 5, &array);
    for (int i = 0; i < 5; ++i) {
        char key[20];
        snprintf(key, sizeof(key), "key%d", i);
        EXPECT_STRING(key, infos[i].key);
        EXPECT_INT(i, infos[i].value.data.integer);
    }
    PMIx_Info_list_release(list);
    EXPECT_STRING("key4", infos[4].key);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}
ROW(list_copies, LISTS, "Key and data are copied when they are added") {
    char key[] = "key", text[] = "text";
    void* list = PMIx_Info_list_start();
    EXPECT_OK(PMIx_Info_list_add(list, key, text, PMIX_STRING));
    key[0] = '#';
    text[0] = '#';
    pmix_data_array_t array = {PMIX_UNDEF, 0, NULL};
    pmix_info_t* infos = converted(list, 1, &array);
    EXPECT_STRING("key", infos[0].key);
    EXPECT_STRING("text", infos[0].value.data.string);
    PMIx_Info_list_release(list);
}
ROW(list_xfer, LISTS, "An info is copied with its directives") {
    pmix_info_t info = info_of("key", "text", PMIX_STRING);
    PMIX_INFO_REQUIRED(&info);
    void* list = PMIx_Info_list_start();
    EXPECT_OK(PMIx_Info_list_xfer(list, &info));
    PMIX_INFO_DESTRUCT(&info);
    pmix_data_array_t array = {PMIX_UNDEF, 0, NULL};
    pmix_info_t* infos = converted(list, 1, &array);
    EXPECT_STRING("text", infos[0].value.data.string);
    EXPECT(PMIX_INFO_IS_REQUIRED(&infos[0]));
    PMIx_Info_list_release(list);
}
ROW(list_release_empty, LISTS, "A list without infos is released") {
    void* list = PMIx_Info_list_start();
    EXPECT(list != NULL);
    PMIx_Info_list_release(list);
}
ROW(list_convert_empty, LISTS, "The array of an empty list has no elements, or an error is returned") {
    void* list = PMIx_Info_list_start();
    pmix_data_array_t array = {PMIX_INFO, 0, NULL};
    if (PMIx_Info_list_convert(list, &array) == PMIX_SUCCESS) EXPECT_INT(0, array.size);
    PMIx_Info_list_release(list);
}
#ifdef HAVE_PMIx_Info_list_prepend
ROW(list_prepend, LISTS, "A prepended info is the first") {
    void* list = list_of(2);
    EXPECT_OK(PMIx_Info_list_prepend(list, "before", "text", PMIX_STRING));
    pmix_data_array_t array = {PMIX_UNDEF, 0, NULL};
    pmix_info_t* infos = converted(list, 3, &array);
    EXPECT_STRING("before", infos[0].key);
    EXPECT_STRING("key0", infos[1].key);
    PMIx_Info_list_release(list);
}
#endif
#ifdef HAVE_PMIx_Info_list_get_info
ROW(list_walk, LISTS, "A list is walked from its first info to its end") {
    void *list = list_of(3), *next = NULL;
    pmix_info_t* info = PMIx_Info_list_get_info(list, NULL, &next);
    for (int i = 0; i < 3; ++i) {
        EXPECT(info != NULL);
        EXPECT_INT(i, info->value.data.integer);
        if (i == 2) {
            EXPECT(next == NULL);
            break;
        }
        EXPECT(next != NULL);
        info = PMIx_Info_list_get_info(list, next, &next);
    }
    PMIx_Info_list_release(list);
}
ROW(list_walk_empty, LISTS, "An empty list has no first info") {
    void *list = PMIx_Info_list_start(), *next = &list;
    EXPECT(PMIx_Info_list_get_info(list, NULL, &next) == NULL);
    PMIx_Info_list_release(list);
}
#endif
#endif

/* ---- arrays ---- */

ROW(array_create, ARRAYS, "An array has the type and size that were asked for, with constructed elements") {
    pmix_data_array_t* array = NULL;
    PMIX_DATA_ARRAY_CREATE(array, 4, PMIX_INFO);
    EXPECT(array != NULL);
    EXPECT_INT(PMIX_INFO, array->type);
    EXPECT_INT(4, array->size);
    EXPECT(array->array != NULL);
    EXPECT_STRING("", ((pmix_info_t*)array->array)[3].key);
    PMIX_DATA_ARRAY_FREE(array);
}
ROW(array_construct, ARRAYS, "A constructed array of strings has no strings yet") {
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 3, PMIX_STRING);
    EXPECT_INT(3, array.size);
    for (int i = 0; i < 3; ++i) EXPECT(((char**)array.array)[i] == NULL);
    ((char**)array.array)[1] = strdup("text");
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}
ROW(array_construct_empty, ARRAYS, "An array of 0 elements has a type and no memory") {
    pmix_data_array_t array;
    PMIX_DATA_ARRAY_CONSTRUCT(&array, 0, PMIX_PROC);
    EXPECT_INT(0, array.size);
    EXPECT_INT(PMIX_PROC, array.type);
    PMIX_DATA_ARRAY_DESTRUCT(&array);
}
#ifdef HAVE_PMIx_Data_array_init
ROW(array_init, ARRAYS, "Initialization sets the type and allocates nothing") {
    pmix_data_array_t array;
    memset(&array, 0xff, sizeof(array));
    PMIx_Data_array_init(&array, PMIX_UINT32);
    EXPECT_INT(PMIX_UINT32, array.type);
    EXPECT_INT(0, array.size);
    EXPECT(array.array == NULL);
}
#endif

/* ---- argument arrays ---- */

#ifdef HAVE_PMIx_Argv_append_nosize
static void expect_list(char** list, int count, const char* a, const char* b, const char* c) {
    const char* wanted[] = {a, b, c};
    EXPECT(list != NULL);
    for (int i = 0; i < count; ++i) EXPECT_STRING(wanted[i], list[i]);
    EXPECT(list[count] == NULL);
    EXPECT_INT(count, PMIx_Argv_count(list));
}
ROW(argv_append, ARGV, "A copy of each string is added at the end") {
    char **list = NULL, text[] = "one";
    EXPECT_OK(PMIx_Argv_append_nosize(&list, text));
    text[0] = '#';
    EXPECT_OK(PMIx_Argv_append_nosize(&list, "two"));
    EXPECT_OK(PMIx_Argv_append_nosize(&list, ""));
    expect_list(list, 3, "one", "two", "");
    PMIx_Argv_free(list);
}
ROW(argv_prepend, ARGV, "A copy of each string is added in front") {
    char** list = NULL;
    EXPECT_OK(PMIx_Argv_prepend_nosize(&list, "two"));
    EXPECT_OK(PMIx_Argv_prepend_nosize(&list, "one"));
    expect_list(list, 2, "one", "two", NULL);
    PMIx_Argv_free(list);
}
ROW(argv_unique, ARGV, "A string that is there already is not added") {
    char** list = NULL;
    EXPECT_OK(PMIx_Argv_append_unique_nosize(&list, "one"));
    EXPECT_OK(PMIx_Argv_append_unique_nosize(&list, "two"));
    (void)PMIx_Argv_append_unique_nosize(&list, "one");
    expect_list(list, 2, "one", "two", NULL);
    PMIx_Argv_free(list);
}
ROW(argv_split, ARGV, "A text is split at the delimiter, empty parts are left out") {
    char** list = PMIx_Argv_split("one,,two,", ',');
    expect_list(list, 2, "one", "two", NULL);
    PMIx_Argv_free(list);
}
ROW(argv_split_single, ARGV, "A text without the delimiter is one string") {
    char** list = PMIx_Argv_split("alone", ':');
    expect_list(list, 1, "alone", NULL, NULL);
    PMIx_Argv_free(list);
}
ROW(argv_split_with_empty, ARGV, "Empty parts between delimiters are kept") {
    char** list = PMIx_Argv_split_with_empty("one,,two", ',');
    expect_list(list, 3, "one", "", "two");
    PMIx_Argv_free(list);
}
ROW(argv_join, ARGV, "Joining is the reverse of splitting") {
    char** list = PMIx_Argv_split("a;b;c", ';');
    char* text = PMIx_Argv_join(list, ';');
    EXPECT_STRING("a;b;c", text);
    free(text);
    PMIx_Argv_free(list);
}
ROW(argv_join_empty, ARGV, "Joining nothing is an empty text") {
    char* text = PMIx_Argv_join(NULL, ',');
    EXPECT(text == NULL || text[0] == '\0');
}
ROW(argv_count_null, ARGV, "No array has no strings") {
    EXPECT_INT(0, PMIx_Argv_count(NULL));
}
ROW(argv_free_null, ARGV, "No array is freed without harm") {
    PMIx_Argv_free(NULL);
    EXPECT_INT(0, PMIx_Argv_count(NULL));
}
ROW(argv_copy, ARGV, "A copy has strings of its own") {
    char **list = PMIx_Argv_split("one,two", ','), **copy = PMIx_Argv_copy(list);
    EXPECT(copy != list && copy[0] != list[0]);
    PMIx_Argv_free(list);
    expect_list(copy, 2, "one", "two", NULL);
    PMIx_Argv_free(copy);
}
#endif

#ifdef HAVE_PMIx_Setenv
static const char* variable(char** env, const char* name) {
    size_t size = strlen(name);
    for (; env != NULL && *env != NULL; ++env) {
        if (strncmp(*env, name, size) == 0 && (*env)[size] == '=') return *env + size + 1;
    }
    return NULL;
}
ROW(setenv_adds, ENVARS, "A variable is added to an array, which may be empty at first") {
    char** env = NULL;
    EXPECT_OK(PMIx_Setenv("CONFORMANCE_ONE", "1", true, &env));
    EXPECT_OK(PMIx_Setenv("CONFORMANCE_TWO", "2", false, &env));
    EXPECT_STRING("1", variable(env, "CONFORMANCE_ONE"));
    EXPECT_STRING("2", variable(env, "CONFORMANCE_TWO"));
    EXPECT(getenv("CONFORMANCE_ONE") == NULL);
}
ROW(setenv_overwrite, ENVARS, "A variable is replaced only where that was asked for") {
    char** env = NULL;
    EXPECT_OK(PMIx_Setenv("NAME", "old", true, &env));
    EXPECT_OK(PMIx_Setenv("NAME", "new", true, &env));
    EXPECT_STRING("new", variable(env, "NAME"));
    (void)PMIx_Setenv("NAME", "newest", false, &env);
    EXPECT_STRING("new", variable(env, "NAME"));
    int count = 0;
    for (char** p = env; *p != NULL; ++p) count += strncmp(*p, "NAME=", 5) == 0;
    EXPECT_INT(1, count);
}
ROW(setenv_prefix, ENVARS, "A variable whose name begins with another name is another variable") {
    char** env = NULL;
    EXPECT_OK(PMIx_Setenv("NAME_LONG", "long", true, &env));
    EXPECT_OK(PMIx_Setenv("NAME", "short", true, &env));
    EXPECT_STRING("long", variable(env, "NAME_LONG"));
    EXPECT_STRING("short", variable(env, "NAME"));
}
#endif
