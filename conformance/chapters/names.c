/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, their values, and the functions that return texts for them. pmix-check makes names.inc of standard_names.csv.
 */
#include "check.h"

#define STATUSES "Data Structures and Types / PMIx Return Status Constants"
#define CONSTANTS "Data Structures and Types / Constants"
#define ATTRIBUTES "Introduction / Attributes"
#define TEXTS "Data Structures and Types / PMIx Datatype Value String Representations"

struct number {
    const char* name;
    long long here, standard;
};
struct attribute {
    const char *name, *here, *standard;
};

#define STATUS(name, here, standard) {name, (long long)(here), (long long)(standard)},
#define NUMBER(name, here, standard)
#define ATTRIBUTE(name, here, standard)
static const struct number statuses[] = {
#include "names.inc"
};
#undef STATUS
#undef NUMBER
#define STATUS(name, here, standard)
#define NUMBER(name, here, standard) {name, (long long)(here), (long long)(standard)},
static const struct number numbers[] = {
#include "names.inc"
};
#undef NUMBER
#undef ATTRIBUTE
#define NUMBER(name, here, standard)
#define ATTRIBUTE(name, here, standard) {name, here, standard},
static const struct attribute attributes[] = {
#include "names.inc"
};
#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

/* PMIX_ATTR_UNDEF is no string in some headers. */
static const char* text_of(const char* text) {
    return text != NULL ? text : "(NULL)";
}

static void expect_numbers(const struct number* table, size_t count) {
    char text[1200] = "";
    for (size_t i = 0; i < count; ++i) {
        size_t used = strlen(text);
        if (table[i].here != table[i].standard)
            snprintf(text + used, sizeof(text) - used, " %s is %lld, not %lld;", table[i].name, table[i].here,
                     table[i].standard);
    }
    if (text[0] != '\0') failed("%s", text);
    EXPECT(count > 0);
}

ROW(status_values, STATUSES, "Every status and event of the headers has the value of the Standard") {
    expect_numbers(statuses, COUNT(statuses));
}
ROW(constant_values, CONSTANTS, "Every other constant of the headers has the value of the Standard") {
    expect_numbers(numbers, COUNT(numbers));
}
ROW(status_signs, STATUSES, "Success is 0, and every error and event is negative") {
    EXPECT_INT(0, PMIX_SUCCESS);
    for (size_t i = 0; i < COUNT(statuses); ++i) {
        if (statuses[i].here > 0 || (statuses[i].here == 0 && strcmp(statuses[i].name, "PMIX_SUCCESS") != 0))
            failed("%s is %lld", statuses[i].name, statuses[i].here);
    }
}
ROW(status_distinct, STATUSES, "No two statuses have the same value") {
    for (size_t i = 0; i < COUNT(statuses); ++i) {
        for (size_t k = i + 1; k < COUNT(statuses); ++k) {
            if (statuses[i].here == statuses[k].here && statuses[i].standard != statuses[k].standard)
                failed("%s and %s", statuses[i].name, statuses[k].name);
        }
    }
}
ROW(attribute_strings, ATTRIBUTES, "Every attribute of the headers has the string of the Standard") {
    char text[1200] = "";
    for (size_t i = 0; i < COUNT(attributes); ++i) {
        size_t used = strlen(text);
        if (strcmp(text_of(attributes[i].here), attributes[i].standard) != 0)
            snprintf(text + used, sizeof(text) - used, " %s is %s, not %s;", attributes[i].name,
                     text_of(attributes[i].here), attributes[i].standard);
    }
    if (text[0] != '\0') failed("%s", text);
}
ROW(attribute_reserved, ATTRIBUTES, "Every attribute string begins with pmix and fits into a key") {
    for (size_t i = 0; i < COUNT(attributes); ++i) {
        if (attributes[i].here == NULL) continue;
        if (strncmp(attributes[i].here, "pmix", 4) != 0 || strlen(attributes[i].here) > PMIX_MAX_KEYLEN)
            failed("%s is %s", attributes[i].name, attributes[i].here);
    }
}
ROW(attribute_distinct, ATTRIBUTES, "No two attributes of the Standard have the same string") {
    for (size_t i = 0; i < COUNT(attributes); ++i) {
        for (size_t k = i + 1; k < COUNT(attributes); ++k) {
            if (strcmp(text_of(attributes[i].here), text_of(attributes[k].here)) == 0 &&
                strcmp(attributes[i].standard, attributes[k].standard) != 0)
                failed("%s and %s", attributes[i].name, attributes[k].name);
        }
    }
}

ROW(error_string_all, TEXTS, "Every status has a text of its own") {
    for (size_t i = 0; i < COUNT(statuses); ++i) {
        const char* text = PMIx_Error_string((pmix_status_t)statuses[i].here);
        if (text == NULL || text[0] == '\0') failed("%s has no text", statuses[i].name);
        for (size_t k = 0; k < i; ++k) {
            const char* other = PMIx_Error_string((pmix_status_t)statuses[k].here);
            if (statuses[k].here != statuses[i].here && strcmp(text, other) == 0)
                failed("%s and %s have the text %s", statuses[k].name, statuses[i].name, text);
        }
    }
}
ROW(error_string_unknown, TEXTS, "A number that is no status has a text too") {
    const int unknown[] = {1, 77, -4999, INT32_MAX, INT32_MIN};
    for (int i = 0; i < 5; ++i) EXPECT(PMIx_Error_string(unknown[i]) != NULL);
}

/* A function whose texts are static: for every value of 16 bits a text, the same each time. */
#define STATIC_TEXTS(name, function, type, limit)                                                                      \
    ROW(name, TEXTS, #function " returns a text for any value, the same whenever it is asked") {                       \
        for (unsigned long value = 0; value <= (limit); ++value) {                                                     \
            const char* text = function((type)value);                                                                  \
            if (text == NULL) failed(#function "(%lu) is NULL", value);                                                \
            char copy[200];                                                                                            \
            snprintf(copy, sizeof(copy), "%s", text);                                                                  \
            text = function((type)value);                                                                              \
            if (strncmp(copy, text, sizeof(copy) - 1) != 0) failed(#function "(%lu): %s, then %s", value, copy, text); \
        }                                                                                                              \
    }
STATIC_TEXTS(proc_state_string, PMIx_Proc_state_string, pmix_proc_state_t, 255)
STATIC_TEXTS(scope_string, PMIx_Scope_string, pmix_scope_t, 255)
STATIC_TEXTS(persistence_string, PMIx_Persistence_string, pmix_persistence_t, 255)
STATIC_TEXTS(range_string, PMIx_Data_range_string, pmix_data_range_t, 255)
STATIC_TEXTS(type_string, PMIx_Data_type_string, pmix_data_type_t, 1000)
STATIC_TEXTS(allocation_string, PMIx_Alloc_directive_string, pmix_alloc_directive_t, 255)
STATIC_TEXTS(job_state_string, PMIx_Job_state_string, pmix_job_state_t, 255)
STATIC_TEXTS(link_state_string, PMIx_Link_state_string, pmix_link_state_t, 255)

ROW(type_string_distinct, TEXTS, "Different data types have different texts") {
    const pmix_data_type_t types[] = {PMIX_BOOL,   PMIX_BYTE, PMIX_STRING, PMIX_SIZE,       PMIX_INT,  PMIX_UINT,
                                      PMIX_DOUBLE, PMIX_PROC, PMIX_INFO,   PMIX_DATA_ARRAY, PMIX_ENVAR};
    for (size_t i = 0; i < COUNT(types); ++i) {
        for (size_t k = 0; k < i; ++k) {
            char copy[200];
            snprintf(copy, sizeof(copy), "%s", PMIx_Data_type_string(types[i]));
            if (strcmp(copy, PMIx_Data_type_string(types[k])) == 0)
                failed("%d and %d are both %s", types[i], types[k], copy);
        }
    }
}
ROW(directives_string, TEXTS, "PMIx_Info_directives_string returns a text for any combination") {
    char none[400];
    char* text = PMIx_Info_directives_string(0);
    EXPECT(text != NULL);
    snprintf(none, sizeof(none), "%s", text);
    text = PMIx_Info_directives_string(PMIX_INFO_REQD);
    EXPECT(text != NULL && strcmp(text, none) != 0);
    EXPECT(PMIx_Info_directives_string(0xffffffff) != NULL);
}
ROW(channel_string, TEXTS, "PMIx_IOF_channel_string returns a text for any combination") {
    char one[400];
    snprintf(one, sizeof(one), "%s", PMIx_IOF_channel_string(PMIX_FWD_STDOUT_CHANNEL));
    EXPECT(one[0] != '\0');
    char two[400];
    snprintf(two, sizeof(two), "%s", PMIx_IOF_channel_string(PMIX_FWD_STDOUT_CHANNEL | PMIX_FWD_STDERR_CHANNEL));
    EXPECT(strcmp(one, two) != 0);
    EXPECT(PMIx_IOF_channel_string(0) != NULL);
    EXPECT(PMIx_IOF_channel_string(0xffff) != NULL);
}
#ifdef HAVE_PMIx_Device_type_string
ROW(device_type_string, TEXTS, "PMIx_Device_type_string returns a text for any type") {
    char one[200];
    snprintf(one, sizeof(one), "%s", PMIx_Device_type_string(PMIX_DEVTYPE_GPU));
    EXPECT(one[0] != '\0');
    EXPECT(strcmp(one, PMIx_Device_type_string(PMIX_DEVTYPE_NETWORK)) != 0);
    EXPECT(PMIx_Device_type_string(0) != NULL);
    EXPECT(PMIx_Device_type_string(UINT64_MAX) != NULL);
}
#endif
#ifdef HAVE_PMIx_Get_attribute_string
ROW(attribute_string, TEXTS, "The string of every attribute name is returned", .ranks = 1) {
    char text[1000] = "";
    for (size_t i = 0; i < COUNT(attributes); ++i) {
        if (attributes[i].here == NULL) continue;
        const char* string = PMIx_Get_attribute_string(attributes[i].name);
        size_t used = strlen(text);
        if (string == NULL || strcmp(string, text_of(attributes[i].here)) != 0)
            snprintf(text + used, sizeof(text) - used, " %s: %s;", attributes[i].name, string);
    }
    if (text[0] != '\0') failed("%s", text);
}
#endif
#ifdef HAVE_PMIx_Get_attribute_name
ROW(attribute_name, TEXTS, "The name of every attribute string is returned", .ranks = 1) {
    char text[1000] = "";
    for (size_t i = 0; i < COUNT(attributes); ++i) {
        if (attributes[i].here == NULL) continue;
        const char* name = PMIx_Get_attribute_name(attributes[i].here);
        bool found = false;
        for (size_t k = 0; name != NULL && k < COUNT(attributes); ++k) {
            if (strcmp(text_of(attributes[k].here), text_of(attributes[i].here)) == 0 &&
                strcmp(attributes[k].name, name) == 0)
                found = true;
        }
        size_t used = strlen(text);
        if (!found) snprintf(text + used, sizeof(text) - used, " %s: %s;", attributes[i].here, name);
    }
    if (text[0] != '\0') failed("%s", text);
}
#endif
