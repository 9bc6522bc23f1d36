// SPDX-License-Identifier: BSD-3-Clause
// What we pack, another library unpacks, and the reverse: every sample and random values of every type, through the
// other library in a process of its own (data_peer.c).
#include <fcntl.h>
#include <gtest/gtest.h>
#include <pmix_server.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/codec/portable.h"
#include "common/values/value.h"
#include "support/data_samples.h"
#include "support/portable_random.h"
#include "support/status.h"

extern char** environ;

namespace pmix::common {
namespace {

using ByteVector = std::vector<uint8_t>;

// So that a difference can be read.
std::string hex(const ByteVector& bytes) {
    std::string text;
    for (uint8_t b : bytes) {
        text += "0123456789abcdef"[b >> 4];
        text += "0123456789abcdef"[b & 15];
        text += ' ';
    }
    return text;
}

struct Answer {
    int32_t status = PMIX_ERROR;
    int32_t count = 0;
    ByteVector bytes;
};

// The process and the two pipes to it.
class Peer {
  public:
    Peer() {
#ifdef WIREUP_DATA_PEER
        int in[2];
        int out[2];
        if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return;
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        // A release's own, where its root has one.
        const char* given = ::getenv("WIREUP_DATA_PEER");
        std::string path = given != nullptr ? given : WIREUP_DATA_PEER;
        char* argv[] = {path.data(), nullptr};
        if (posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv, environ) != 0) pid_ = -1;
        posix_spawn_file_actions_destroy(&actions);
        close(in[0]);
        close(out[1]);
        to_ = in[1];
        from_ = out[0];
#endif
    }
    Peer(const Peer&) = delete;
    Peer& operator=(const Peer&) = delete;
    ~Peer() {
        if (to_ >= 0) close(to_);
        if (from_ >= 0) close(from_);
        if (pid_ > 0) waitpid(pid_, nullptr, 0);
    }
    bool running() const {
        return pid_ > 0;
    }

    Answer ask(char operation, pmix_data_type_t type, size_t capacity, const ByteVector& bytes = {}) {
        const uint32_t head[] = {static_cast<uint32_t>(operation), type, static_cast<uint32_t>(capacity),
                                 static_cast<uint32_t>(bytes.size())};
        Answer a;
        int32_t reply[3];
        if (!all(head, sizeof head) || !all(bytes.data(), bytes.size()) || !fill(reply, sizeof reply)) return a;
        a.bytes.resize(static_cast<uint32_t>(reply[2]));
        if (!fill(a.bytes.data(), a.bytes.size())) return a;
        a.status = reply[0];
        a.count = reply[1];
        return a;
    }

  private:
    bool all(const void* p, size_t n) {
        for (const char* c = static_cast<const char*>(p); n != 0;) {
            ssize_t w = write(to_, c, n);
            if (w <= 0) return false;
            c += w;
            n -= static_cast<size_t>(w);
        }
        return true;
    }
    bool fill(void* p, size_t n) {
        for (char* c = static_cast<char*>(p); n != 0;) {
            ssize_t r = read(from_, c, n);
            if (r <= 0) return false;
            c += r;
            n -= static_cast<size_t>(r);
        }
        return true;
    }
    pid_t pid_ = -1;
    int to_ = -1;
    int from_ = -1;
};

class DataInterop : public testing::Test {
  protected:
    static void SetUpTestSuite() {
        signal(SIGPIPE, SIG_IGN);
        peer_ = new Peer;
        make_samples();
    }
    static void TearDownTestSuite() {
        delete peer_;
        peer_ = nullptr;
    }
    void SetUp() override {
        if (!peer_->running()) GTEST_SKIP() << "no other PMIx library is installed";
        const Answer a = peer_->ask('v', 0, 0);
        version_.assign(a.bytes.begin(), a.bytes.end());
        ASSERT_STATUS(PMIX_SUCCESS, a.status);
        if (version_.find("OpenPMIx") == std::string::npos) GTEST_SKIP() << "not another library: " << version_;
    }
    std::string version_;
    static Peer* peer_;
};
Peer* DataInterop::peer_ = nullptr;

ByteVector packed(const void* values, size_t n, pmix_data_type_t type) {
    pmix_data_buffer_t b = {};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_pack(nullptr, &b, const_cast<void*>(values), static_cast<int32_t>(n), type));
    ByteVector bytes(b.base_ptr, b.base_ptr + b.bytes_used);
    free(b.base_ptr);
    return bytes;
}

// Unpacks all of it with ours into n elements, and packs that again.
ByteVector repacked(const ByteVector& bytes, size_t n, pmix_data_type_t type) {
    pmix_data_buffer_t b = {};
    pmix_byte_object_t payload = {const_cast<char*>(reinterpret_cast<const char*>(bytes.data())), bytes.size()};
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&b, &payload));
    const size_t size = element_size(*type_row(type), type);
    void* values = calloc(n + 1, size);
    auto count = static_cast<int32_t>(n + 1);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, values, &count, type));
    EXPECT_EQ(count, static_cast<int32_t>(n));
    EXPECT_EQ(b.unpack_ptr, b.pack_ptr);
    ByteVector again = packed(values, n, type);
    destroy_array(type == PMIX_REGEX ? pmix_data_type_t{PMIX_STRING} : type, values, n);
    free(b.base_ptr);
    return again;
}

// What OpenPMIx up to 6.1 cannot read, from any writer: data types (it reads them as signed numbers), no values at all
// (it takes the end for a lack), arrays of arrays (it has no room for them).
bool peer_reads(const pmix_sample_t& s) {
    return s.type != PMIX_DATA_TYPE && s.type != PMIX_REGATTR && s.n != 0 &&
           std::strcmp(s.name, "array of arrays") != 0;
}

// rows: D1
TEST_F(DataInterop, SamplesPackToTheSameBytes) {
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        if (s.type == PMIX_PROC_STATS) continue;  // theirs leaves out a field that it then wants to read
        const Answer theirs = peer_->ask('s', 0, i);
        ASSERT_STATUS(PMIX_SUCCESS, theirs.status) << s.name;
        EXPECT_EQ(hex(packed(s.values, static_cast<size_t>(s.n), s.type)), hex(theirs.bytes)) << s.name;
    }
}

// rows: D1 D2
TEST_F(DataInterop, SamplesUnpackOnBothSides) {
    for (size_t i = 0; i < g_nsamples; ++i) {
        const pmix_sample_t& s = g_samples[i];
        const auto n = static_cast<size_t>(s.n);
        const ByteVector ours = packed(s.values, n, s.type);
        EXPECT_EQ(hex(repacked(ours, n, s.type)), hex(ours)) << s.name;
        if (!peer_reads(s)) continue;
        const Answer theirs = peer_->ask('r', s.type, n + 1, ours);
        EXPECT_STATUS(PMIX_SUCCESS, theirs.status) << s.name;
        EXPECT_EQ(theirs.count, s.n) << s.name;
        if (s.type != PMIX_PROC_STATS) {
            EXPECT_EQ(hex(theirs.bytes), hex(ours)) << s.name;
        }
    }
}

// rows: D2
TEST_F(DataInterop, ProcessStatisticsWithAndWithoutPeakSize) {
    for (size_t i = 0; i < g_nsamples; ++i) {
        if (g_samples[i].type != PMIX_PROC_STATS) continue;
        const Answer theirs = peer_->ask('s', 0, i);
        ASSERT_STATUS(PMIX_SUCCESS, theirs.status);
        for (const ByteVector& bytes : {theirs.bytes, packed(g_samples[i].values, 1, PMIX_PROC_STATS)}) {
            pmix_proc_stats_t stats;
            pmix_data_buffer_t b = {};
            pmix_byte_object_t payload = {reinterpret_cast<char*>(const_cast<uint8_t*>(bytes.data())), bytes.size()};
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&b, &payload));
            int32_t n = 1;
            ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, &stats, &n, PMIX_PROC_STATS));
            EXPECT_EQ(b.unpack_ptr, b.pack_ptr);
            EXPECT_EQ(stats.peak_vsize, bytes == theirs.bytes ? 0.0f : 4.5f);
            EXPECT_EQ(stats.rss, 3.5f);
            EXPECT_EQ(stats.processor, 500);
            EXPECT_EQ(stats.sample_time.tv_usec, 7);
            destroy_elements(PMIX_PROC_STATS, &stats, 1);
            free(b.base_ptr);
        }
    }
}

// rows: D1 D2
TEST_F(DataInterop, RandomValuesUnpackOnBothSides) {
    for (pmix_data_type_t type : test::PortableRandom::peer_types()) {
        for (uint32_t seed = 0; seed < 20; ++seed) {
            test::PortableRandom random(seed * 131 + type, true);
            const size_t n = 1 + seed % 3;
            test::Elements elements(type, n);
            random.fill(&elements);
            const ByteVector ours = packed(elements.data(), n, type);
            const Answer theirs = peer_->ask('r', type, n, ours);
            ASSERT_STATUS(PMIX_SUCCESS, theirs.status) << "type " << type << " seed " << seed;
            EXPECT_EQ(hex(theirs.bytes), hex(ours)) << "type " << type << " seed " << seed;
            EXPECT_EQ(hex(repacked(theirs.bytes, n, type)), hex(ours)) << "type " << type << " seed " << seed;
        }
    }
}

// rows: D2
TEST_F(DataInterop, PeerReadsExactReals) {
    // Theirs writes six decimals; what we write brings the very number to them, and back to us.
    const double numbers[] = {1e-9, 1.0 / 3, 1e300, -2.2250738585072014e-308, 1e15 + 0.3};
    const ByteVector ours = packed(numbers, 5, PMIX_DOUBLE);
    const Answer theirs = peer_->ask('r', PMIX_DOUBLE, 5, ours);
    ASSERT_STATUS(PMIX_SUCCESS, theirs.status);
    pmix_data_buffer_t b = {};
    pmix_byte_object_t payload = {reinterpret_cast<char*>(const_cast<uint8_t*>(theirs.bytes.data())),
                                  theirs.bytes.size()};
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_embed(&b, &payload));
    double back[5];
    int32_t n = 5;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Data_unpack(nullptr, &b, back, &n, PMIX_DOUBLE));
    EXPECT_EQ(back[2], 1e300);  // 308 digits and six decimals
    EXPECT_NEAR(back[1], 1.0 / 3, 1e-6);
    free(b.base_ptr);
}

// rows: D1 D2
TEST_F(DataInterop, MapsOfEveryKind) {
    std::string list;
    for (uint64_t i = 0; i < 4000; ++i) {
        if (i != 0) list += ',';
        list += "node" + std::to_string(i * i * 7919 % 100003);
    }
    char* blob = nullptr;
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_generate_regex(list.c_str(), &blob));
    char plain[] = "node1,node2";
    char raw[] = "raw:node1,node2";
    char* maps[] = {blob, plain, raw};
    for (char* map : maps) {
        const ByteVector ours = packed(&map, 1, PMIX_REGEX);
        EXPECT_EQ(hex(repacked(ours, 1, PMIX_REGEX)), hex(ours)) << map;
        if (map != blob) continue;  // theirs reads plain text but does not write it
        const Answer theirs = peer_->ask('r', PMIX_REGEX, 1, ours);
        EXPECT_STATUS(PMIX_SUCCESS, theirs.status) << map;
        EXPECT_EQ(hex(theirs.bytes), hex(ours)) << map;
    }
    free(blob);
}

// rows: D1 D2
TEST_F(DataInterop, CpusetsAndTopologies) {
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_server_init(nullptr, nullptr, 0));  // topologies belong to a library that is up
    pmix_cpuset_t cpusets[2];
    PMIx_Cpuset_construct(&cpusets[0]);
    PMIx_Cpuset_construct(&cpusets[1]);
    if (PMIx_Parse_cpuset_string("hwloc:0-3,8", &cpusets[0]) != PMIX_SUCCESS) {
        PMIx_server_finalize();
        GTEST_SKIP() << "no hwloc";
    }
    ByteVector ours = packed(cpusets, 2, PMIX_PROC_CPUSET);
    EXPECT_EQ(hex(ours), "04 0c 30 2d 33 2c 38 00 00 ");
    Answer theirs = peer_->ask('r', PMIX_PROC_CPUSET, 2, ours);
    EXPECT_EQ(theirs.count, 2);  // it reads them; packing one fails in 4.2.2, which takes a length for a status
    if (theirs.status == PMIX_SUCCESS) {
        EXPECT_EQ(hex(theirs.bytes), hex(ours));
    }
    EXPECT_EQ(hex(repacked(ours, 2, PMIX_PROC_CPUSET)), hex(ours));
    PMIx_Cpuset_destruct(&cpusets[0]);

    pmix_topology_t topology;
    PMIx_Topology_construct(&topology);
    ASSERT_STATUS(PMIX_SUCCESS, PMIx_Load_topology(&topology));
    ours = packed(&topology, 1, PMIX_TOPO);
    // Behind the XML are hwloc's structs of support as they are in memory, 32 or 33 bytes, and both have the same
    // hwloc: a peer answers PMIX_ERROR to fewer. 7.0 writes and reads none.
    const size_t support = ours[ours.size() - 33] == 0 ? 32 : 33;
    const ByteVector bare(ours.begin(), ours.end() - static_cast<ptrdiff_t>(support));
    const bool newest = version_.starts_with("OpenPMIx 7");
    theirs = peer_->ask('r', PMIX_TOPO, 1, newest ? bare : ours);
    ASSERT_STATUS(PMIX_SUCCESS, theirs.status);
    // The XML goes through hwloc once in between, so only its end is compared.
    const auto end = [](const ByteVector& bytes) { return hex({bytes.end() - 40, bytes.end()}); };
    EXPECT_EQ(end(theirs.bytes), end(newest ? bare : ours));
    ByteVector again = repacked(theirs.bytes, 1, PMIX_TOPO);
    if (newest) {
        again.resize(again.size() - support);
        EXPECT_EQ(end(again), end(bare));
    } else {
        EXPECT_EQ(end(again), end(ours));
        // What a process with another hwloc has written is read as well.
        theirs.bytes.resize(theirs.bytes.size() - support + (support == 32 ? 33 : 32));
        EXPECT_EQ(end(repacked(theirs.bytes, 1, PMIX_TOPO)), end(ours));
    }
    PMIx_Topology_destruct(&topology);
    EXPECT_STATUS(PMIX_SUCCESS, PMIx_server_finalize());
}

// rows: D8
TEST_F(DataInterop, CompressedBlobsBothWays) {
    ByteVector text;
    for (int i = 0; i < 20000; ++i) text.push_back(static_cast<uint8_t>("node"[i % 4] + i / 1000));
    uint8_t* out = nullptr;
    size_t n = 0;
    ASSERT_TRUE(PMIx_Data_compress(text.data(), text.size(), &out, &n));
    const Answer plain = peer_->ask('d', 0, 0, ByteVector(out, out + n));
    EXPECT_STATUS(PMIX_SUCCESS, plain.status);
    EXPECT_EQ(plain.bytes, text);
    free(out);
    // Theirs compresses only what zlib's upper bound already makes smaller, which is nothing; if it ever does, we read
    // it.
    const Answer small = peer_->ask('c', 0, 0, text);
    if (small.status != PMIX_SUCCESS) return;
    ASSERT_TRUE(PMIx_Data_decompress(small.bytes.data(), small.bytes.size(), &out, &n));
    EXPECT_EQ(ByteVector(out, out + n), text);
    free(out);
}

}  // namespace
}  // namespace pmix::common
