// SPDX-License-Identifier: BSD-3-Clause
// Random elements of every type, in the form that the portable encoding keeps: what it has no room for is evened out
// beforehand, so that what comes back can be compared with what went. Memory is malloc's.
#pragma once

#include <cstdlib>
#include <cstring>
#include <vector>

#include "common/codec/portable.h"
#include "support/random_value.h"

namespace pmix::test {

// n zeroed elements as PMIx_Data_pack takes them.
class Elements {
  public:
    Elements(pmix_data_type_t type, size_t n)
        : type_(type), n_(n), size_(common::element_size(*common::type_row(type), type)), data_(calloc(n, size_)) {}
    ~Elements() { common::destroy_array(type_ == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type_, data_, n_); }
    Elements(const Elements&) = delete;
    Elements& operator=(const Elements&) = delete;
    pmix_data_type_t type() const { return type_; }
    size_t size() const { return n_; }
    void* data() { return data_; }
    void* at(size_t i) { return static_cast<char*>(data_) + i * size_; }

  private:
    pmix_data_type_t type_;
    size_t n_;
    size_t size_;
    void* data_;
};

class PortableRandom {
  public:
    // For a peer: only what OpenPMIx 4.2.2 packs and unpacks without losing it or reading where it should not.
    explicit PortableRandom(uint32_t seed, bool for_peer = false) : random_(seed), for_peer_(for_peer) {}

    static std::vector<pmix_data_type_t> types() {
        std::vector<pmix_data_type_t> all = RandomValue::types();
        std::erase(all, pmix_data_type_t{PMIX_UNDEF});
        return all;
    }
    static std::vector<pmix_data_type_t> peer_types() {
        std::vector<pmix_data_type_t> all = types();
        std::erase_if(all, [](pmix_data_type_t t) { return !peer_knows(t); });
        return all;
    }

    void fill(Elements* e) {
        for (size_t i = 0; i < e->size(); ++i) {
            if (e->type() == PMIX_REGEX) {
                *static_cast<char**>(e->at(i)) = map();
            } else {
                random_.element(e->type(), e->at(i));
                even_out(*common::type_row(e->type()), e->at(i));
            }
        }
    }

  private:
    // It reads data types as signed numbers that it wrote as unsigned ones, and process statistics with a field more
    // than it wrote.
    static bool peer_knows(pmix_data_type_t t) {
        return t < PMIX_DEVICE && t != PMIX_TOPO && t != PMIX_DATA_TYPE && t != PMIX_REGATTR && t != PMIX_PROC_STATS;
    }
    // In a value it reads these from the union itself, which holds a pointer to them.
    static bool peer_holds(pmix_data_type_t t) {
        switch (t) {
            case PMIX_VALUE:
            case PMIX_INFO:
            case PMIX_PDATA:
            case PMIX_APP:
            case PMIX_QUERY:
            case PMIX_DATA_BUFFER:
                return false;
            default:
                return peer_knows(t);
        }
    }
    // In an array it makes no room for these.
    static bool peer_lists(pmix_data_type_t t) {
        switch (t) {
            case PMIX_COMMAND:
            case PMIX_DATA_ARRAY:
            case PMIX_REGEX:
            case PMIX_JOB_STATE:
            case PMIX_DEVTYPE:
            case PMIX_LOCTYPE:
            case PMIX_COMPRESSED_BYTE_OBJECT:
                return false;
            default:
                return peer_knows(t) && t < PMIX_DATA_BUFFER;
        }
    }

    char* map() {
        static const char* const kMaps[] = {"pmix[n[3:1-64,70]]", "pmix[0-3;4-7]", "pmix[]"};
        return strdup(kMaps[random_.below(3)]);
    }

    void even_out(const common::TypeRow& row, void* element) {
        for (const common::Field& f : common::fields_of(row)) even_out(f, element);
    }

    void even_out_list(pmix_data_type_t type, void* list, size_t n) {
        const common::TypeRow* row = common::type_row(type);
        for (size_t i = 0; i < n; ++i) even_out(*row, static_cast<char*>(list) + i * row->size);
        if (type == PMIX_INFO && n != 0) static_cast<pmix_info_t*>(list)[n - 1].flags |= PMIX_INFO_ARRAY_END;
    }

    void even_out_value(pmix_value_t* v) {
        const common::TypeRow* row = common::type_row(v->type);
        if (v->type == PMIX_UNDEF) return;
        void* element = common::held_element(*row, v);
        if (element == nullptr && v->type == PMIX_DATA_ARRAY) {
            v->data.darray = static_cast<pmix_data_array_t*>(calloc(1, sizeof(pmix_data_array_t)));
        } else if (element == nullptr || (for_peer_ && !peer_holds(v->type))) {
            common::destroy_value(v);
            v->type = PMIX_UINT32;
            v->data.uint32 = static_cast<uint32_t>(random_.number());
        } else {
            even_out(*row, element);
        }
    }

    void even_out(const common::Field& f, void* element) {
        using common::Form;
        using common::Travel;
        char* p = static_cast<char*>(element) + f.offset;
        if (f.travel == Travel::absent) std::memset(p, 0, f.width);
        if (f.travel == Travel::hwloc) {
            free(common::load_field<char*>(p, 0));
            common::store_field(p, 0, strdup("hwloc"));
            return;
        }
        switch (f.form) {
            case Form::real:
                if (!for_peer_ || f.travel == Travel::absent) break;
                if (f.width == sizeof(float)) {
                    common::store_field(p, 0, static_cast<float>(random_.below(1000)) / 8);
                } else {
                    common::store_field(p, 0, static_cast<double>(random_.below(1000000)) / 64);
                }
                break;
            case Form::address:
                common::store_field<void*>(p, 0, nullptr);
                break;
            case Form::argv:
                if (char** argv = common::load_field<char**>(p, 0); argv != nullptr && argv[0] == nullptr) {
                    free(argv);
                    common::store_field<void*>(p, 0, nullptr);
                }
                break;
            case Form::blob:
                if (f.travel == Travel::regex) {
                    free(common::load_field<char*>(p, 0));
                    char* text = map();
                    common::store_field(p, 0, text);
                    common::store_field(element, f.count_offset, std::strlen(text) + 1);
                } else if (common::load_field<size_t>(element, f.count_offset) == 0) {
                    free(common::load_field<char*>(p, 0));
                    common::store_field<void*>(p, 0, nullptr);
                }
                break;
            case Form::list: {
                void* list = common::load_field<void*>(p, 0);
                auto n = common::load_field<size_t>(element, f.count_offset);
                if (for_peer_ && (f.type == PMIX_DISK_STATS || f.type == PMIX_NET_STATS)) {
                    // It packs the bytes of the pointer instead of what it points to.
                    common::destroy_array(f.type, list, n);
                    common::store_field<void*>(p, 0, nullptr);
                    common::store_field<size_t>(element, f.count_offset, 0);
                    break;
                }
                even_out_list(f.type, list, n);
                break;
            }
            case Form::record:
                even_out(*common::type_row(f.type), p);
                break;
            case Form::value:
                even_out_value(reinterpret_cast<pmix_value_t*>(p));
                break;
            case Form::array: {
                auto* a = reinterpret_cast<pmix_data_array_t*>(p);
                if (for_peer_ && !peer_lists(a->type)) {
                    common::destroy_array(a->type, a->array, a->size);
                    *a = {PMIX_UINT32, 0, nullptr};
                }
                even_out_list(a->type, a->array, a->size);
                break;
            }
            case Form::buffer: {
                auto* b = reinterpret_cast<pmix_data_buffer_t*>(p);
                b->unpack_ptr = b->base_ptr;
                break;
            }
            default:
                break;
        }
    }

    RandomValue random_;
    bool for_peer_;
};

}  // namespace pmix::test
