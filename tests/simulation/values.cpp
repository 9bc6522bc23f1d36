// SPDX-License-Identifier: BSD-3-Clause
#include "simulation/values.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace pmix::simulation {

namespace {

// Most are small; some need memory of their own, a few many frames.
size_t size_of(uint32_t number) {
    return number % 23 == 0 ? 60'000 + number : number % 5 == 0 ? 4000 + number : 1 + number % 40;
}

std::string text_of(uint32_t number) {
    std::string text = std::to_string(number) + ':';
    text.resize(text.size() + size_of(number), static_cast<char>('a' + number % 26));
    return text;
}

std::vector<uint32_t> array_of(uint32_t number) {
    return std::vector<uint32_t>(1 + size_of(number) / sizeof(uint32_t), number);
}

uint32_t number_in(const std::string& text) {
    const auto number = static_cast<uint32_t>(std::strtoul(text.c_str(), nullptr, 10));
    return text == text_of(number) ? number : 0;
}

}  // namespace

namespace {

pmix_value_t load(const Library& pmix, uint32_t number) {
    pmix_value_t value{};
    const std::string text = text_of(number);
    switch (number % 6) {
        case 2:
            pmix.Value_load(&value, text.c_str(), PMIX_STRING);
            break;
        case 3: {
            pmix_byte_object_t object{const_cast<char*>(text.data()), text.size()};
            pmix.Value_load(&value, &object, PMIX_BYTE_OBJECT);
            break;
        }
        case 4: {
            auto numbers = array_of(number);
            pmix_data_array_t array{PMIX_UINT32, numbers.size(), numbers.data()};
            pmix.Value_load(&value, &array, PMIX_DATA_ARRAY);
            break;
        }
        case 5: {
            pmix_proc_t proc{};
            std::strcpy(proc.nspace, "value");
            proc.rank = number;
            pmix.Value_load(&value, &proc, PMIX_PROC);
            break;
        }
        default:
            pmix.Value_load(&value, &number, PMIX_UINT32);
    }
    return value;
}

}  // namespace

pmix_value_t value_of(const Library& pmix, uint32_t number) {
    pmix_value_t value = load(pmix, number);
    while (value.type == PMIX_UNDEF) value = load(pmix, number);  // for which there was no memory
    return value;
}

uint32_t number_of(const pmix_value_t& value) {
    uint32_t number = 0;
    switch (value.type) {
        case PMIX_UINT32:
            number = value.data.uint32;
            return number % 6 < 2 ? number : 0;
        case PMIX_STRING:
            number = number_in(value.data.string);
            return number % 6 == 2 ? number : 0;
        case PMIX_BYTE_OBJECT:
            number = number_in({value.data.bo.bytes, value.data.bo.size});
            return number % 6 == 3 ? number : 0;
        case PMIX_DATA_ARRAY: {
            const pmix_data_array_t* array = value.data.darray;
            if (array == nullptr || array->type != PMIX_UINT32 || array->size == 0) return 0;
            const auto* numbers = static_cast<const uint32_t*>(array->array);
            number = numbers[0];
            return number % 6 == 4 && std::vector<uint32_t>(numbers, numbers + array->size) == array_of(number) ? number
                                                                                                                : 0;
        }
        case PMIX_PROC:
            number = value.data.proc->rank;
            return number % 6 == 5 && std::strcmp(value.data.proc->nspace, "value") == 0 ? number : 0;
        default:
            return 0;
    }
}

}  // namespace pmix::simulation
