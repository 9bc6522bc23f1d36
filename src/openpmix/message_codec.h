// SPDX-License-Identifier: BSD-3-Clause
// How each kind of field is written, read and printed. For messages.cpp; nobody else includes it.
//
// Pure templates, any thread. A visitor is handed to a message's fields() and meets the members in wire order. The
// reader is sticky: after a failure everything is empty, and status() says what it was.
#pragma once

#include <cstring>
#include <memory>

#include "common/base/portable_bytes.h"
#include "common/protocol/message_codec.h"
#include "openpmix/known_types.h"
#include "openpmix/messages.h"

namespace pmix::openpmix::codec {

// Types without a struct in the public headers.
inline constexpr size_t kLeastKeyValue = 2;
inline constexpr size_t kLeastBuffer = 2;

template <class T>
inline constexpr bool kIsOptional = false;
template <class T>
inline constexpr bool kIsOptional<std::optional<T>> = true;

// ---- write ----

class Writer {
  public:
    Writer(common::BufferWriter& out, const Traits& traits) : out_(out), traits_(traits), form_(traits.form) {
        out_.set_typed_empty_arrays(true);
        if (!traits.topology_support) out_.set_support_bytes(0);
    }

    void head(size_t n, pmix_data_type_t type) { note(common::begin_call(out_, n, type, form_)); }
    void elements(const void* src, size_t n, pmix_data_type_t type) {
        if (!ok()) return;
        note(common::write_elements(out_, src, n, type, form_));
        if (!holds_known_types(traits_, src, n, type)) note(PMIX_ERR_NOT_SUPPORTED);
    }
    void call(const void* src, size_t n, pmix_data_type_t type) {
        head(n, type);
        elements(src, n, type);
    }
    void size(size_t n) { call(&n, 1, PMIX_SIZE); }
    void text(const char* text) { elements(&text, 1, PMIX_STRING); }
    void bytes(common::Bytes bytes) {
        const pmix_byte_object_t object{reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data())), bytes.size()};
        elements(&object, 1, PMIX_BYTE_OBJECT);
    }
    void byte(uint8_t b) { out_.byte(b); }
    bool described() const noexcept { return form_.described; }
    bool ok() const noexcept { return status_ == PMIX_SUCCESS; }
    void note(pmix_status_t status) noexcept {
        if (ok()) status_ = status;
    }
    pmix_status_t status() const noexcept { return status_; }

  private:
    common::BufferWriter& out_;
    const Traits& traits_;
    common::CallForm form_;
    pmix_status_t status_ = PMIX_SUCCESS;
};

template <pmix_data_type_t Type, class T>
void write(Writer& w, const Item<Type, T>& item) {
    w.call(&item.value, 1, Type);
}
inline void write(Writer& w, const Text& text) {
    w.head(1, PMIX_STRING);
    w.text(text.null ? nullptr : text.text.c_str());
}
inline void write_proc(Writer& w, const common::ProcId& id) {
    const pmix_proc_t proc = id.to_c();
    w.elements(&proc, 1, PMIX_PROC);
}
inline void write(Writer& w, const Proc& proc) {
    w.head(1, PMIX_PROC);
    write_proc(w, proc.id);
}
template <ArrayForm Form>
void write(Writer& w, const ProcArray<Form>& array) {
    w.size(array.procs.size());
    if (Form == ArrayForm::if_any && array.procs.empty()) return;
    w.head(array.procs.size(), PMIX_PROC);
    for (const common::ProcId& id : array.procs) write_proc(w, id);
}
template <class T>
void write_array(Writer& w, const T* elements, size_t n, ArrayForm form) {
    constexpr pmix_data_type_t type = common::TypeId<T>::value;
    w.size(n);
    if (form == ArrayForm::apart) {
        for (size_t i = 0; i < n; ++i) w.call(elements + i, 1, type);
    } else if (n != 0 || form == ArrayForm::always) {
        w.call(elements, n, type);
    }
}
template <class T, ArrayForm Form>
void write(Writer& w, const Array<T, Form>& array) {
    write_array(w, array.elements.data(), array.elements.size(), Form);
}
template <ArrayForm Form>
void write(Writer& w, const InfoArray<Form>& array) {
    write_array(w, array.infos.data(), array.infos.size(), Form);
}
template <class T>
void write(Writer& w, const One<T>& one) {
    T nothing;
    std::memset(&nothing, 0, sizeof nothing);
    w.call(one.element.empty() ? &nothing : one.element.data(), 1, common::TypeId<T>::value);
}
inline void write(Writer& w, const Keys& keys) {
    w.size(keys.keys.size());
    for (const Text& key : keys.keys) write(w, key);
}
inline void write(Writer& w, const Statuses& statuses) {
    w.size(statuses.codes.size());
    if (!statuses.codes.empty()) w.call(statuses.codes.data(), statuses.codes.size(), PMIX_STATUS);
}
inline void write(Writer& w, const StatusesToEnd& statuses) {
    for (const auto& codes : statuses.calls) w.call(codes.data(), codes.size(), PMIX_STATUS);
}
inline void write(Writer& w, const ByteObject& object) {
    w.head(1, PMIX_BYTE_OBJECT);
    w.bytes(object.bytes);
}
inline void write(Writer& w, const ByteObjects& objects) {
    for (const common::Bytes& bytes : objects.objects) write(w, ByteObject{bytes});
}
inline void write(Writer& w, const ContextId& id) {
    w.call(&id.given, 1, PMIX_BOOL);
    if (id.given) w.size(id.id);
}
inline void write(Writer& w, const KeyValues& values) {
    for (const KeyValue& pair : values.pairs) {
        w.head(1, PMIX_KVAL);
        w.text(pair.key.c_str());
        w.elements(&pair.value.get(), 1, PMIX_VALUE);
    }
}
inline void write(Writer& w, const InfosToEnd& infos) {
    for (const OneInfo& info : infos.infos) write(w, info);
}
inline void write(Writer& w, const Sections& sections) {
    for (const Section& section : sections.sections) {
        w.call(&section.scope, 1, PMIX_SCOPE);
        w.head(1, PMIX_BUFFER);
        w.byte(w.described() ? kFullyDescribed : kNotDescribed);
        w.bytes(section.values);
    }
}
template <class T>
void write(Writer& w, const std::optional<T>& field) {
    if (field) write(w, *field);
}

// ---- read ----

class Reader {
  public:
    Reader(common::Bytes bytes, const Traits& traits, size_t* budget) : in_(bytes), form_(traits.form) {
        in_.set_budget(budget);
        in_.set_short_empty_arrays(traits.short_empty_arrays);
        in_.set_keep_array_ends(true);
        if (!traits.topology_support) in_.set_support_bytes(0);
    }

    size_t head(pmix_data_type_t type) noexcept { return common::open_call(in_, type, form_); }
    size_t head(pmix_data_type_t type, size_t least) noexcept { return common::open_call(in_, type, least, form_); }
    // The head of a call that holds so many.
    bool head_of(size_t n, pmix_data_type_t type) noexcept {
        if (head(type) != n) bad();
        return ok();
    }
    bool elements(void* dest, size_t n, pmix_data_type_t type) noexcept {
        if (!ok()) return false;
        note(common::read_elements(in_, dest, n, type, form_));
        return ok();
    }
    template <class T>
    T one(pmix_data_type_t type) noexcept {
        T value{};
        if (head_of(1, type)) elements(&value, 1, type);
        return value;
    }
    size_t size() noexcept { return one<size_t>(PMIX_SIZE); }
    std::string text(bool* null = nullptr) {
        char* text = nullptr;
        elements(&text, 1, PMIX_STRING);
        const std::unique_ptr<char, decltype(&std::free)> owner(text, std::free);
        if (null != nullptr) *null = text == nullptr;
        return text == nullptr ? std::string() : std::string(text);
    }
    common::Bytes bytes() noexcept { return common::view_bytes(in_, form_); }
    uint8_t byte() noexcept { return in_.byte(); }
    // After an array of no elements some write a call of none; no other call begins so.
    void skip_empty_call(pmix_data_type_t type) noexcept {
        common::PortableReader ahead = in_;
        ahead.set_budget(nullptr);
        if (common::open_call(ahead, type, form_) != 0 || !ahead.ok()) return;
        ahead.set_budget(in_.budget());
        in_ = ahead;
    }
    template <class T>
    bool spend(size_t n) noexcept {
        if (n > SIZE_MAX / sizeof(T) || !in_.spend(n * sizeof(T))) bad();
        return ok();
    }

    bool described() const noexcept { return form_.described; }
    size_t left() const noexcept { return in_.left(); }
    bool at_end() const noexcept { return in_.left() == 0; }
    bool ok() const noexcept { return status_ == PMIX_SUCCESS && in_.ok(); }
    void bad() noexcept { note(PMIX_ERR_UNPACK_FAILURE); }
    void note(pmix_status_t status) noexcept {
        if (status_ == PMIX_SUCCESS) status_ = status;
    }
    pmix_status_t status() const noexcept { return status_ != PMIX_SUCCESS ? status_ : in_.status(); }

  private:
    common::PortableReader in_;
    common::CallForm form_;
    pmix_status_t status_ = PMIX_SUCCESS;
};

template <pmix_data_type_t Type, class T>
void read(Reader& r, Item<Type, T>& item) {
    item.value = r.one<T>(Type);
}
inline void read(Reader& r, Text& text) {
    if (r.head_of(1, PMIX_STRING)) text.text = r.text(&text.null);
}
inline common::ProcId read_proc(Reader& r) {
    pmix_proc_t proc;
    return r.elements(&proc, 1, PMIX_PROC) ? common::ProcId(proc) : common::ProcId();
}
inline void read(Reader& r, Proc& proc) {
    if (r.head_of(1, PMIX_PROC)) proc.id = read_proc(r);
}
template <ArrayForm Form>
void read(Reader& r, ProcArray<Form>& array) {
    const size_t n = r.size();
    if (!r.ok()) return;
    if (n == 0) return r.skip_empty_call(PMIX_PROC);
    if (!r.head_of(n, PMIX_PROC) || !r.spend<common::ProcId>(n)) return;
    array.procs.reserve(n);
    for (size_t i = 0; i < n && r.ok(); ++i) array.procs.push_back(read_proc(r));
}
// n elements of calls as the form says.
template <class T>
common::CArray<T> read_array(Reader& r, ArrayForm form) {
    constexpr pmix_data_type_t type = common::TypeId<T>::value;
    const size_t n = r.size();
    if (!r.ok()) return {};
    if (n == 0) {
        if (form != ArrayForm::apart) r.skip_empty_call(type);
        return {};
    }
    const bool apart = form == ArrayForm::apart;
    // Every element takes a byte at least, so a count beyond what is left is a lie and sizes nothing.
    if (n > r.left()) r.bad();
    if (!apart) r.head_of(n, type);
    if (!r.ok() || !r.spend<T>(n)) return {};
    auto array = common::CArray<T>::zeroed(n);
    if (!array.ok()) {
        r.note(array.status());
        return {};
    }
    if (!apart) r.elements(array->data(), n, type);
    for (size_t i = 0; apart && i < n; ++i) {
        if (r.head_of(1, type)) r.elements(array->data() + i, 1, type);
    }
    return std::move(*array);
}
template <class T, ArrayForm Form>
void read(Reader& r, Array<T, Form>& array) {
    array.elements = read_array<T>(r, Form);
}
template <ArrayForm Form>
void read(Reader& r, InfoArray<Form>& array) {
    common::CArray<pmix_info_t> infos = read_array<pmix_info_t>(r, Form);
    if (infos.empty()) return;
    const size_t n = infos.size();
    array.infos = common::Infos(common::InfoList::take_over(infos.release(), n));
}
template <class T>
void read(Reader& r, One<T>& one) {
    if (!r.head_of(1, common::TypeId<T>::value) || !r.spend<T>(1)) return;
    auto element = common::CArray<T>::zeroed(1);
    if (!element.ok()) return r.note(element.status());
    r.elements(element->data(), 1, common::TypeId<T>::value);
    one.element = std::move(*element);
}
inline void read(Reader& r, Keys& keys) {
    const size_t n = r.size();
    if (n > r.left() || !r.spend<Text>(n)) return r.bad();
    keys.keys.resize(r.ok() ? n : 0);
    for (Text& key : keys.keys) read(r, key);
}
inline void read_statuses(Reader& r, size_t n, std::vector<pmix_status_t>& codes) {
    if (!r.ok() || !r.spend<pmix_status_t>(n)) return;
    codes.resize(n);
    if (n != 0) r.elements(codes.data(), n, PMIX_STATUS);
}
inline void read(Reader& r, Statuses& statuses) {
    const size_t n = r.size();
    if (!r.ok()) return;
    if (n == 0) return r.skip_empty_call(PMIX_STATUS);
    if (r.head_of(n, PMIX_STATUS)) read_statuses(r, n, statuses.codes);
}
inline void read(Reader& r, StatusesToEnd& statuses) {
    while (r.ok() && !r.at_end()) {
        if (!r.spend<std::vector<pmix_status_t>>(1)) return;
        read_statuses(r, r.head(PMIX_STATUS), statuses.calls.emplace_back());
    }
}
inline void read(Reader& r, ByteObject& object) {
    if (r.head_of(1, PMIX_BYTE_OBJECT)) object.bytes = r.bytes();
}
inline void read(Reader& r, ByteObjects& objects) {
    while (r.ok() && !r.at_end()) {
        ByteObject object;
        read(r, object);
        if (r.ok() && r.spend<common::Bytes>(1)) objects.objects.push_back(object.bytes);
    }
}
inline void read(Reader& r, ContextId& id) {
    id.given = r.one<bool>(PMIX_BOOL);
    if (id.given) id.id = r.size();
}
inline void read(Reader& r, KeyValues& values) {
    while (r.ok() && !r.at_end()) {
        if (r.head(PMIX_KVAL, kLeastKeyValue) != 1 || !r.spend<KeyValue>(1)) return r.bad();
        KeyValue pair;
        pair.key = r.text();
        r.elements(pair.value.c_ptr(), 1, PMIX_VALUE);
        if (r.ok()) values.pairs.push_back(std::move(pair));
    }
}
inline void read(Reader& r, InfosToEnd& infos) {
    while (r.ok() && !r.at_end()) read(r, infos.infos.emplace_back());
}
inline void read(Reader& r, Sections& sections) {
    while (r.ok() && !r.at_end()) {
        Section section;
        section.scope = r.one<pmix_scope_t>(PMIX_SCOPE);
        if (r.head(PMIX_BUFFER, kLeastBuffer) != 1 || !r.spend<Section>(1)) return r.bad();
        if (r.byte() != (r.described() ? kFullyDescribed : kNotDescribed)) return r.bad();
        section.values = r.bytes();
        if (r.ok()) sections.sections.push_back(section);
    }
}
template <class T>
void read(Reader& r, std::optional<T>& field) {
    if (r.at_end()) return;
    read(r, field.emplace());
}

// ---- print ----

template <pmix_data_type_t Type, class T>
void print(std::string& out, const Item<Type, T>& item) {
    common::codec::print(out, item.value);
}
inline void print(std::string& out, const Text& text) {
    if (text.null) {
        out += "NULL";
    } else {
        common::codec::print(out, text.text);
    }
}
inline void print(std::string& out, const Proc& proc) {
    common::codec::print(out, proc.id);
}
template <ArrayForm Form>
void print(std::string& out, const ProcArray<Form>& array) {
    common::codec::print(out, array.procs);
}
template <ArrayForm Form>
void print(std::string& out, const InfoArray<Form>& array) {
    common::codec::print(out, array.infos);
}
inline void print(std::string& out, const Statuses& statuses) {
    common::codec::print(out, statuses.codes);
}
inline void print(std::string& out, const ByteObject& object) {
    common::codec::print(out, object.bytes);
}
inline void print(std::string& out, const ContextId& id) {
    out += id.given ? std::to_string(id.id) : "none";
}
inline void print_count(std::string& out, size_t n) {
    out += '[';
    out += std::to_string(n);
    out += ']';
}
inline void print(std::string& out, const KeyValues& values) {
    out += '[';
    size_t n = 0;
    for (const KeyValue& pair : values.pairs) {
        if (n != 0) out += ' ';
        if (n++ == common::codec::kMaxPrintedElements) {
            out += "... of " + std::to_string(values.pairs.size());
            break;
        }
        common::codec::print_text(out, pair.key);
    }
    out += ']';
}
inline void print(std::string& out, const Sections& sections) {
    out += '[';
    for (const Section& section : sections.sections) {
        if (&section != &sections.sections.front()) out += ' ';
        out += std::to_string(section.scope) + ':';
        common::codec::print(out, section.values);
    }
    out += ']';
}
inline void print(std::string& out, const Keys& keys) {
    out += '[';
    for (const Text& key : keys.keys) {
        if (&key != &keys.keys.front()) out += ' ';
        if (&key == keys.keys.data() + common::codec::kMaxPrintedElements) {
            out += "... of " + std::to_string(keys.keys.size());
            break;
        }
        print(out, key);
    }
    out += ']';
}
inline void print(std::string& out, const ByteObjects& objects) {
    print_count(out, objects.objects.size());
}
inline void print(std::string& out, const InfosToEnd& infos) {
    print_count(out, infos.infos.size());
}
inline void print(std::string& out, const StatusesToEnd& statuses) {
    print_count(out, statuses.calls.size());
}
template <class T, ArrayForm Form>
void print(std::string& out, const Array<T, Form>& array) {
    print_count(out, array.elements.size());
}
template <class T>
void print(std::string& out, const One<T>& one) {
    print_count(out, one.element.size());
}
template <class T>
void print(std::string& out, const std::optional<T>& field) {
    if (field) {
        print(out, *field);
    } else {
        out += "none";
    }
}

}  // namespace pmix::openpmix::codec
