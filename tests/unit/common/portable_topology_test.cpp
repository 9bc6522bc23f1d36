// SPDX-License-Identifier: BSD-3-Clause
// Topologies in the portable encoding: behind the XML are as many bytes as the writer's hwloc has, 32 or 33, or none if
// it is OpenPMIx 7.0; which it is is written nowhere. hwloc's place is taken by a library whose number can be chosen.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "common/base/opaque.h"
#include "common/base/portable_bytes.h"
#include "common/codec/portable.h"
#include "common/values/value.h"
#include "support/status.h"

namespace pmix::common::portable_topology_test {
namespace {

using ByteVector = std::vector<uint8_t>;

struct FakeTopology {
    std::string xml;
    ByteVector support = ByteVector(kSupportBytesSince211, 0);
};
size_t g_size = kSupportBytes;  // of this machine's hwloc
int g_alive = 0;
int g_parsed = 0;

FakeTopology* make(std::string_view xml) {
    ++g_alive;
    return new FakeTopology{std::string(xml)};
}
const OpaqueOps kOps = {nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        nullptr,
                        [](void* t) {
                            --g_alive;
                            delete static_cast<FakeTopology*>(t);
                        },
                        [](const void* t) { return strdup(static_cast<const FakeTopology*>(t)->xml.c_str()); },
                        [](const char* xml) -> void* {
                            ++g_parsed;
                            return *xml == '<' ? make(xml) : nullptr;
                        },
                        [](const void* t, uint8_t* out, size_t n) {
                            std::memcpy(out, static_cast<const FakeTopology*>(t)->support.data(), n);
                        },
                        [](void* t, const uint8_t* bytes, size_t n) {
                            std::memcpy(static_cast<FakeTopology*>(t)->support.data(), bytes, n);
                        },
                        []() noexcept { return g_size; }};

struct Buffer : pmix_data_buffer_t {
    Buffer() : pmix_data_buffer_t{} {}
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { free(base_ptr); }
    size_t left() const { return bytes_used - static_cast<size_t>(unpack_ptr - base_ptr); }
};

struct Topology : pmix_topology_t {
    Topology() : pmix_topology_t{} {}
    Topology(std::string_view xml, uint8_t first, uint8_t last) : pmix_topology_t{strdup("hwloc"), make(xml)} {
        fake()->support.front() = first;
        fake()->support.back() = last;
    }
    Topology(const Topology&) = delete;
    Topology& operator=(const Topology&) = delete;
    ~Topology() { destroy_elements(PMIX_TOPO, static_cast<pmix_topology_t*>(this), 1); }
    FakeTopology* fake() const { return static_cast<FakeTopology*>(topology); }
};

class PortableTopology : public testing::Test {
  protected:
    PortableTopology() { install_opaque_ops(&kOps); }
    ~PortableTopology() override {
        EXPECT_EQ(g_alive, 0);
        install_opaque_ops(nullptr);
    }
    static void pack(Buffer* b, const void* src, size_t n, pmix_data_type_t type, size_t writer) {
        BufferWriter w(b);
        w.set_support_bytes(writer);
        ASSERT_STATUS(PMIX_SUCCESS, begin_call(w, n, type, {}));
        ASSERT_STATUS(PMIX_SUCCESS, write_elements(w, src, n, type, {}));
        w.commit();
    }
    static pmix_status_t unpack(Buffer* b, void* dest, int32_t n, pmix_data_type_t type, size_t reader) {
        g_size = reader;
        g_parsed = 0;
        const int32_t wanted = n;
        const pmix_status_t rc = unpack_values(b, dest, &n, type);
        EXPECT_TRUE(rc != PMIX_SUCCESS || n == wanted);
        return rc;
    }
};

constexpr size_t kReaders[] = {kSupportBytes, kSupportBytesSince211};
constexpr size_t kWriters[] = {0, kSupportBytes, kSupportBytesSince211};

// rows: D1
TEST_F(PortableTopology, Unpack_WriterHasAnotherNumberOfBytes_ReadsThatNumber) {
    for (const size_t writer : kWriters) {
        for (const size_t reader : kReaders) {
            for (const uint8_t last : {0, 1}) {
                for (const bool followed : {false, true}) {
                    SCOPED_TRACE(testing::Message() << writer << ' ' << reader << ' ' << +last << ' ' << followed);
                    Buffer b;
                    const Topology topology("<xml/>", 1, last);
                    pack(&b, static_cast<const pmix_topology_t*>(&topology), 1, PMIX_TOPO, writer);
                    const uint32_t number = 70'000;
                    if (followed) pack(&b, &number, 1, PMIX_UINT32, writer);
                    Topology back;
                    ASSERT_STATUS(PMIX_SUCCESS, unpack(&b, static_cast<pmix_topology_t*>(&back), 1, PMIX_TOPO, reader));
                    EXPECT_STREQ(back.source, "hwloc");
                    EXPECT_EQ(back.fake()->xml, "<xml/>");
                    EXPECT_EQ(back.fake()->support.front(), writer == 0 ? 0 : 1);
                    EXPECT_EQ(back.fake()->support.back(), writer == kSupportBytesSince211 ? last : 0);
                    EXPECT_EQ(g_parsed, 1);
                    uint32_t number_back = 0;
                    if (followed) {
                        ASSERT_STATUS(PMIX_SUCCESS, unpack(&b, &number_back, 1, PMIX_UINT32, reader));
                        EXPECT_EQ(number_back, number);
                    }
                    EXPECT_EQ(b.left(), 0u);
                }
            }
        }
    }
}

// As an info's value, with infos and a described call behind it.
// rows: D1
TEST_F(PortableTopology, Unpack_TopologyWithinInfos_WhatFollowsIsRead) {
    for (const size_t writer : kWriters) {
        for (const size_t reader : kReaders) {
            for (const bool described : {false, true}) {
                SCOPED_TRACE(testing::Message() << writer << ' ' << reader << ' ' << described);
                Topology topology("<xml/>", 1, 0);
                pmix_info_t infos[2] = {};
                std::strcpy(infos[0].key, PMIX_TOPOLOGY2);
                infos[0].value.type = PMIX_TOPO;
                infos[0].value.data.topo = &topology;
                std::strcpy(infos[1].key, PMIX_UNIV_SIZE);
                infos[1].value.type = PMIX_UINT32;
                infos[1].value.data.uint32 = 12;
                Buffer b;
                if (described) {
                    BufferWriter w(&b);
                    w.byte(PMIX_INT32);
                    w.flex(fold(2));
                    w.flex(PMIX_INFO);
                    w.set_support_bytes(writer);
                    ASSERT_STATUS(PMIX_SUCCESS, write_elements(w, infos, 2, PMIX_INFO, {}));
                    w.commit();
                } else {
                    pack(&b, infos, 2, PMIX_INFO, writer);
                }
                const char* text = "behind";
                pack(&b, &text, 1, PMIX_STRING, writer);
                pmix_info_t back[2] = {};
                ASSERT_STATUS(PMIX_SUCCESS, unpack(&b, back, 2, PMIX_INFO, reader));
                EXPECT_STREQ(back[1].key, PMIX_UNIV_SIZE);
                EXPECT_EQ(back[1].value.data.uint32, 12u);
                EXPECT_EQ(static_cast<FakeTopology*>(back[0].value.data.topo->topology)->xml, "<xml/>");
                EXPECT_EQ(g_parsed, 1);
                destroy_elements(PMIX_INFO, back, 2);
                char* text_back = nullptr;
                ASSERT_STATUS(PMIX_SUCCESS, unpack(&b, &text_back, 1, PMIX_STRING, reader));
                EXPECT_STREQ(text_back, text);
                free(text_back);
            }
        }
    }
}

// What this library writes on one machine is read there whatever it looks like with the other number.
// rows: D1
TEST_F(PortableTopology, Unpack_AbsentTopologyAfterAnother_BothAreRead) {
    for (const size_t size : kReaders) {
        const Topology one("<xml/>", 0, 0);
        const pmix_topology_t both[2] = {one, {}};
        Buffer b;
        pack(&b, both, 2, PMIX_TOPO, size);
        pmix_topology_t back[2] = {};
        ASSERT_STATUS(PMIX_SUCCESS, unpack(&b, back, 2, PMIX_TOPO, size));
        EXPECT_NE(back[0].topology, nullptr);
        EXPECT_EQ(back[1].topology, nullptr);
        EXPECT_EQ(b.left(), 0u);
        destroy_elements(PMIX_TOPO, back, 2);
        // Where only the first one fits, it is stored, and the call is read again from its beginning.
        b.unpack_ptr = b.base_ptr;
        int32_t n = 1;
        ASSERT_STATUS(PMIX_ERR_UNPACK_INADEQUATE_SPACE, unpack_values(&b, back, &n, PMIX_TOPO));
        EXPECT_EQ(n, 1);
        EXPECT_EQ(b.unpack_ptr, b.base_ptr);
        destroy_elements(PMIX_TOPO, back, 1);
    }
}

// rows: D1
TEST_F(PortableTopology, Unpack_BytesMissing_NothingIsLeft) {
    const Topology topology("<xml/>", 1, 1);
    Buffer b;
    pack(&b, static_cast<const pmix_topology_t*>(&topology), 1, PMIX_TOPO, kSupportBytesSince211);
    const size_t whole = b.bytes_used;
    for (const size_t reader : kReaders) {
        for (size_t missing = 0; missing <= whole; ++missing) {
            b.bytes_used = whole - missing;
            b.unpack_ptr = b.base_ptr;
            pmix_topology_t back = {};
            // Without one byte or all of them it is what others write.
            const bool complete = missing == 0 || missing == 1 || missing == kSupportBytesSince211;
            EXPECT_EQ(unpack(&b, &back, 1, PMIX_TOPO, reader) == PMIX_SUCCESS, complete) << missing;
            EXPECT_EQ(back.topology != nullptr, complete);
            EXPECT_EQ(b.unpack_ptr == b.base_ptr, !complete);
            destroy_elements(PMIX_TOPO, &back, 1);
        }
    }
}

// rows: D1
TEST_F(PortableTopology, ReadElements_NumberFound_HoldsForTheNextCallAndIsPaidOnce) {
    Buffer b;
    const Topology first("<xml/>", 1, 1), second("<second/>", 0, 0);
    pack(&b, static_cast<const pmix_topology_t*>(&first), 1, PMIX_TOPO, kSupportBytesSince211);
    pack(&b, static_cast<const pmix_topology_t*>(&second), 1, PMIX_TOPO, kSupportBytesSince211);
    g_size = kSupportBytes;
    PortableReader r({reinterpret_cast<const uint8_t*>(b.base_ptr), b.bytes_used});
    size_t budget = 1000;
    r.set_budget(&budget);
    for (int i = 0; i < 2; ++i) {
        g_parsed = 0;
        pmix_topology_t back = {};
        ASSERT_EQ(open_call(r, PMIX_TOPO, {}), 1u);
        ASSERT_STATUS(PMIX_SUCCESS, read_elements(r, &back, 1, PMIX_TOPO, {}));
        EXPECT_EQ(g_parsed, 1);
        EXPECT_EQ(r.support_bytes(), kSupportBytesSince211);
        destroy_elements(PMIX_TOPO, &back, 1);
    }
    EXPECT_EQ(r.left(), 0u);
    EXPECT_EQ(budget, 1000u);
}

// rows: D1
TEST_F(PortableTopology, Unpack_TextThatIsNoTopology_FailsOnceParsed) {
    const Topology topology("no xml", 1, 1);
    Buffer b;
    pack(&b, static_cast<const pmix_topology_t*>(&topology), 1, PMIX_TOPO, kSupportBytes);
    pmix_topology_t back = {};
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, unpack(&b, &back, 1, PMIX_TOPO, kSupportBytes));
    EXPECT_EQ(back.topology, nullptr);
    EXPECT_EQ(g_parsed, 1);
}

// rows: D1
TEST_F(PortableTopology, ReadElements_ValueReadTwice_MemoryIsCountedOnce) {
    Topology topology("<xml/>", 1, 0);
    pmix_value_t value = {};
    value.type = PMIX_TOPO;
    value.data.topo = &topology;
    size_t taken[2];
    for (const size_t reader : kReaders) {
        Buffer each;
        pack(&each, &value, 1, PMIX_VALUE, kSupportBytesSince211);
        g_size = reader;
        PortableReader r({reinterpret_cast<const uint8_t*>(each.base_ptr), each.bytes_used});
        size_t budget = 1000;
        r.set_budget(&budget);
        pmix_value_t back = {};
        ASSERT_EQ(open_call(r, PMIX_VALUE, {}), 1u);
        ASSERT_STATUS(PMIX_SUCCESS, read_elements(r, &back, 1, PMIX_VALUE, {}));
        destroy_elements(PMIX_VALUE, &back, 1);
        taken[reader == kSupportBytes] = 1000 - budget;
    }
    EXPECT_NE(taken[0], 0u);
    EXPECT_EQ(taken[0], taken[1]);
}

}  // namespace
}  // namespace pmix::common::portable_topology_test
