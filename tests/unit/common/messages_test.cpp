// SPDX-License-Identifier: BSD-3-Clause
#include "common/protocol/messages.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

#include "common/base/opaque.h"
#include "common/codec/pack.h"
#include "support/sample_message.h"

namespace pmix::common::messages_test {
namespace {

using test::sample_message;

template <class M>
Blob encoded(const M& message) {
    auto bytes = message_bytes(message);
    EXPECT_TRUE(bytes.ok());
    return bytes.ok() ? bytes.value() : Blob{};
}

template <class M>
std::string printed(const M& message) {
    std::string out;
    print_message(out, message);
    return out;
}

template <class M>
class EachMessage : public testing::Test {};

#define WIREUP_MESSAGE(type) type,
struct End {};
template <class... Ts>
struct Listed {
    template <class T>
    using With = Listed<Ts..., T>;
};
template <class Done, class T, class... Rest>
struct Split {
    using type = typename Split<typename Done::template With<T>, Rest...>::type;
};
template <class... Ts>
struct Split<Listed<Ts...>, End> {
    using type = testing::Types<Ts...>;
};
using AllMessages = typename Split<Listed<>,
#include "common/protocol/commands.def"
                                   End>::type;
TYPED_TEST_SUITE(EachMessage, AllMessages);

TYPED_TEST(EachMessage, ComesBackTheSame) {
    for (bool filled : {false, true}) {
        const TypeParam out = filled ? sample_message<TypeParam>() : TypeParam{};
        const Blob bytes = encoded(out);
        TypeParam in;
        ASSERT_STATUS(PMIX_SUCCESS, decode_message(bytes, in));
        EXPECT_EQ(bytes, encoded(in));
        EXPECT_EQ(printed(out), printed(in));
    }
}

// Cut anywhere: either a field is cut, which is malformed, or trailing fields are absent, which is an older sender.
TYPED_TEST(EachMessage, TrailingFieldsMayBeAbsent) {
    const Blob bytes = encoded(sample_message<TypeParam>());
    size_t accepted = 0;
    for (size_t n = 0; n <= bytes.size(); ++n) {
        const Blob cut(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(n));
        TypeParam in;
        accepted += decode_message(cut, in) == PMIX_SUCCESS;
    }
    size_t fields = 0;
    TypeParam::fields([&](const char*, auto) { ++fields; });
    EXPECT_EQ(fields + 1, accepted) << "one for each number of fields that were there";
}

TYPED_TEST(EachMessage, ANewerSendersFieldsAreIgnored) {
    Blob bytes = encoded(sample_message<TypeParam>());
    const std::string expected = printed(sample_message<TypeParam>());
    bytes.insert(bytes.end(), {1, 2, 3, 4, 5});
    TypeParam in;
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(bytes, in));
    EXPECT_EQ(expected, printed(in));
}

TYPED_TEST(EachMessage, EveryByteSpoiledIsSafe) {
    const Blob good = encoded(sample_message<TypeParam>());
    for (size_t at = 0; at < good.size(); ++at) {
        for (uint8_t value : {0x00, 0x7f, 0xff}) {
            Blob bad = good;
            bad[at] = value;
            TypeParam in;
            if (decode_message(bad, in) == PMIX_SUCCESS) {
                Blob again = encoded(in);
                TypeParam twice;
                ASSERT_STATUS(PMIX_SUCCESS, decode_message(again, twice));
                EXPECT_EQ(again, encoded(twice));
            }
        }
    }
}

// The layout of docs/reference/wire.md, spelled a second time.
TEST(Messages, BytesOfAFenceRequest) {
    FenceRequest fence;
    fence.procs.emplace_back("ab", PMIX_RANK_WILDCARD);
    fence.memory = FenceUse::joined;
    fence.memory_round = 7;
    EXPECT_EQ((Blob{1,    0,    0,    0,               // one proc
                    2,    0,    0,    0,    'a', 'b',  // its namespace
                    0xfe, 0xff, 0xff, 0xff,            // its rank
                    0,    0,    0,    0,               // no infos
                    0,    0,    0,    0,               // no ranges
                    3,    7,    0,    0,    0}),       // joined in memory, in round 7
              encoded(fence));
}

TEST(Messages, Encode_ParticipantsAsRanges_AreFirstAndLastOfEach) {
    const Blob bytes{0,    0,    0,    0,                                                      // no procs
                     0,    0,    0,    0,                                                      // no infos
                     1,    0,    0,    0,                                                      // one namespace
                     34,   0,    0,    0,                                                      // of 34 bytes
                     2,    0,    0,    0,    'a',  'b',                                        // its name
                     4,    0,    0,    0,                                                      // four ranks
                     0,    0,    0,    0,    0x9f, 0x86, 1,    0,                              // 0 to 99,999
                     0xfe, 0xff, 0xff, 0xff, 0xfe, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 0};  // no bits
    FenceRequest fence;
    fence.ranges.push_back({"ab", {0, 99'999, PMIX_RANK_WILDCARD, PMIX_RANK_WILDCARD}});
    Blob with_memory = bytes;
    with_memory.insert(with_memory.end(), {0, 0, 0, 0, 0});  // none, no round
    EXPECT_EQ(with_memory, encoded(fence));
    ConnectRequest connect;
    connect.ranges = fence.ranges;
    EXPECT_EQ(bytes, encoded(connect));
    FenceRequest old;
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(Bytes(bytes).first(8), old)) << "of a sender that knows no ranges";
    EXPECT_TRUE(old.ranges.empty());
    FenceRequest again;
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(bytes, again));
    ASSERT_EQ(1u, again.ranges.size());
    EXPECT_EQ("ab", again.ranges[0].nspace);
    EXPECT_EQ(fence.ranges[0].ranks, again.ranges[0].ranks);
}

TEST(Messages, BytesOfACommit) {
    CommitRequest commit;
    commit.generation = 2;
    commit.entries.push_back({3, "k", test::kSampleValue});
    EXPECT_EQ((Blob{2,  0, 0, 0, 0,   0, 0, 0,        // generation
                    1,  0, 0, 0,                      // one entry
                    16, 0, 0, 0,                      // of 16 bytes
                    3,                                // scope
                    1,  0, 0, 0, 'k',                 // key
                    6,  0, 0, 0, 14,  0, 1, 2, 3, 4,  // value
                    0,  0, 0, 0, 0,   0, 0, 0}),      // nothing is sent again
              encoded(commit));
}

// A sender of the one layout that requests to the host had when version 1 was made, spelled by hand.
struct OneLayout {
    uint32_t number = 0;
    std::string name;
    size_t procs = 0, infos = 0, directives = 0, queries = 0;
    Blob data;

    Blob bytes() const {
        ByteWriter w;
        w.u32(number);
        w.string(name);
        w.u32(static_cast<uint32_t>(procs));
        for (size_t i = 0; i < procs; ++i) {
            w.string("job");
            w.u32(static_cast<uint32_t>(i));
        }
        write_flags(w, infos);
        write_flags(w, directives);
        pmix_query_t query{};
        char key[] = "k";
        char* keys[] = {key, nullptr};
        query.keys = keys;
        const std::vector<pmix_query_t> all(queries, query);
        EXPECT_STATUS(PMIX_SUCCESS, encode_array(w, all.data(), all.size()));
        w.bytes(data);
        return w.take();
    }
    static void write_flags(ByteWriter& w, size_t n) {
        const InfoList list = flags(n);
        EXPECT_STATUS(PMIX_SUCCESS, encode_infos(w, list.c_array(), list.size()));
    }
    static InfoList flags(size_t n) {
        InfoList list;
        for (size_t i = 0; i < n; ++i) EXPECT_STATUS(PMIX_SUCCESS, list.append_flag("k", true));
        return list;
    }
};

// added: what later fields have behind the bytes of version 1. Without them a message is read too.
template <class M>
void expect_same_bytes(const OneLayout& layout, const M& message, const Blob& added = {}) {
    Blob all = layout.bytes();
    all.insert(all.end(), added.begin(), added.end());
    EXPECT_EQ(all, encoded(message));
    M in;
    EXPECT_STATUS(PMIX_SUCCESS, decode_message(layout.bytes(), in));
    EXPECT_EQ(all, encoded(in));
    // What the call does not have must not be there.
    OneLayout everything{1, "name", 1, 1, 1, 1, {1}};
    M refused;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(everything.bytes(), refused));
}

TEST(Messages, ServiceRequests_TypedMessages_HaveTheBytesOfVersion1) {
    const auto two = [] { return Infos(OneLayout::flags(2)); };
    QueryRequest query;
    pmix_query_t one{};
    char key[] = "k";
    char* keys[] = {key, nullptr};
    one.keys = keys;
    query.queries = Queries::borrow(&one, 1);
    expect_same_bytes({0, "", 0, 0, 0, 1, {}}, query);
    LogRequest log;
    log.infos = Infos(OneLayout::flags(1));
    log.directives = two();
    expect_same_bytes({0, "", 0, 1, 2, 0, {}}, log);
    JobControlRequest control;
    control.procs = {{"job", 0}, {"job", 1}};
    control.directives = two();
    expect_same_bytes({0, "", 2, 0, 2, 0, {}}, control);
    MonitorRequest monitor;
    monitor.code = PMIX_MONITOR_HEARTBEAT_ALERT;
    monitor.infos = Infos(OneLayout::flags(1));
    monitor.directives = two();
    expect_same_bytes({static_cast<uint32_t>(PMIX_MONITOR_HEARTBEAT_ALERT), "", 0, 1, 2, 0, {}}, monitor);
    AllocateRequest allocate;
    allocate.directive = PMIX_ALLOC_EXTEND;
    allocate.infos = two();
    expect_same_bytes({PMIX_ALLOC_EXTEND, "", 0, 2, 0, 0, {}}, allocate);
    GetCredentialRequest get;
    get.directives = two();
    expect_same_bytes({0, "", 0, 0, 2, 0, {}}, get);
    ValidateCredentialRequest validate;
    validate.directives = two();
    validate.credential = {1, 2, 3};
    expect_same_bytes({0, "", 0, 0, 2, 0, {1, 2, 3}}, validate);
    SessionControlRequest session;
    session.session_id = 4711;
    session.directives = two();
    expect_same_bytes({4711, "", 0, 0, 2, 0, {}}, session);
    GroupRequest group;
    group.call = GroupCall::leave;
    group.name = "group";
    group.procs = {{"job", 0}};
    group.infos = two();
    group.directives = Infos(OneLayout::flags(1));
    expect_same_bytes({2, "group", 1, 2, 1, 0, {}}, group, Blob(4));
    FabricRequest fabric;
    fabric.operation = PMIX_FABRIC_UPDATE_INFO;
    fabric.directives = two();
    expect_same_bytes({PMIX_FABRIC_UPDATE_INFO, "", 0, 0, 2, 0, {}}, fabric);
    ResourceBlockRequest block;
    block.directive = PMIX_RESOURCE_BLOCK_EXTEND;
    block.block = "block";
    block.units = Infos(OneLayout::flags(1));
    block.directives = two();
    expect_same_bytes({PMIX_RESOURCE_BLOCK_EXTEND, "block", 0, 1, 2, 0, {}}, block);
}

TEST(Messages, ServiceReplies_TypedMessages_HaveTheBytesOfVersion1) {
    const auto layout = [](const Blob& data) {
        ByteWriter w;
        OneLayout::write_flags(w, 2);
        w.u32(0);  // no processes
        w.bytes(data);
        w.u64(0);
        w.u32(0);  // no segments
        return w.take();
    };
    ResultsReply results;
    results.infos = Infos(OneLayout::flags(2));
    EXPECT_EQ(layout({}), encoded(results));
    CredentialReply credential;
    credential.infos = Infos(OneLayout::flags(2));
    credential.credential = {7, 8};
    EXPECT_EQ(layout({7, 8}), encoded(credential));
    GroupReply group;
    group.infos = Infos(OneLayout::flags(2));
    EXPECT_EQ(layout({}), encoded(group));
    Blob with_segment = layout({});
    with_segment[with_segment.size() - 4] = 1;
    with_segment.insert(with_segment.end(), {5, 0, 0, 0, 1, 0, 0, 0, 'a'});
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(with_segment, group));
    ASSERT_EQ(1u, group.segments.size());
    EXPECT_EQ("a", group.segments[0].nspace);
}

// A struct inside a message grows like the message.
TEST(Messages, StructsInListsHaveTheirOwnEnd) {
    FenceReply in;
    const Blob bytes{9,  0, 0, 0, 0, 0, 0,    0,                                // generation
                     2,  0, 0, 0,                                               // two segments
                     5,  0, 0, 0, 1, 0, 0,    0,    'a',                        // an older sender's: the name alone
                     46, 0, 0, 0, 1, 0, 0,    0,    'b',  7,    0,    0,    0,  // a newer sender's
                     1,  0, 0, 0, 0, 0, 0,    0,    2,    0,    0,    0,    0,    0,    0,    0,    3,    0,   0,
                     0,  0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(bytes, in));
    ASSERT_EQ(2u, in.segments.size());
    EXPECT_EQ("a", in.segments[0].nspace);
    EXPECT_EQ(0u, in.segments[0].generation);
    EXPECT_EQ("b", in.segments[1].nspace);
    EXPECT_EQ(3u, in.segments[1].generation);
    EXPECT_TRUE(in.segments[1].has_descriptor);
}

TEST(Messages, LyingCountsSizeNothing) {
    const Blob many{0xff, 0xff, 0xff, 0x7f, 1, 2, 3, 4, 5, 6, 7, 8};
    FenceRequest fence;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(many, fence));
    PublishRequest publish;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(many, publish));
    SpawnRequest spawn;
    EXPECT_NE(PMIX_SUCCESS, decode_message(many, spawn));
    LookupReply lookup;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(many, lookup));
    // More infos than a message may have, each really there.
    ByteWriter w;
    w.u32(kMaxInfosPerMessage + 1);
    for (uint32_t i = 0; i <= kMaxInfosPerMessage; ++i) w.raw("\1\0k\0\0\0\0\0\0\0\0\0\0", 12);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(w.view(), publish));
}

TEST(Messages, NamesAreBounded) {
    ByteWriter w;
    w.u32(1);
    w.string(std::string(kMaxNspaceLength + 1, 'n'));
    w.u32(0);
    FenceRequest fence;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode_message(w.view(), fence));
    fence.procs = {ProcId(std::string(kMaxNspaceLength + 1, 'n'), 0)};
    ByteWriter out;
    out.u32(77);
    EXPECT_STATUS(PMIX_ERR_BAD_PARAM, encode_message(out, fence));
    EXPECT_EQ(4u, out.size()) << "the writer is as it was";
}

TEST(Messages, BorrowedInfosAreEncodedInPlace) {
    InfoList list;
    list.append_flag("pmix.collect", true);
    FenceRequest borrowed, owned;
    borrowed.infos = Infos::borrow(list.c_array(), list.size());
    owned.infos = Infos(InfoList::from_c(list.c_array(), list.size()).value());
    EXPECT_EQ(encoded(owned), encoded(borrowed));
    EXPECT_TRUE(borrowed.infos.owned().empty());
    EXPECT_EQ(0u, Infos::borrow(nullptr, 7).size());
}

TEST(Messages, ATraceLine) {
    FenceRequest fence;
    fence.procs = {ProcId("job", PMIX_RANK_WILDCARD), ProcId("job", 3)};
    InfoList list;
    list.append_flag("pmix.collect", true);
    fence.infos = Infos(std::move(list));
    EXPECT_EQ(
        "fence #7 -> FenceRequest{procs=[job.* job.3] infos=[pmix.collect:PMIX_BOOL] ranges=[] memory=0 "
        "memory_round=0}",
        describe_frame(FrameHeader::request(4, 7), encoded(fence)));
    EXPECT_EQ("fence #7 status -24 <- FenceReply{generation=0 segments=[] memory_ranks=0 memory_slot=0}",
              describe_frame(FrameHeader::reply(4, 7, PMIX_ERR_TIMEOUT), {}));
    EXPECT_EQ("command 999 -> <3 bytes>", describe_frame(FrameHeader::notify(999), Blob{1, 2, 3}));
    EXPECT_EQ("fence #7 -> malformed", describe_frame(FrameHeader::request(4, 7), Blob{1}));
    HelloRequest hello;
    hello.token = {1, 2, 3};
    EXPECT_NE(std::string::npos, printed(hello).find("token=<secret>"));
}

// Bytes of an info with a topology, of a process that has hwloc in use; this one has not.
template <class M>
Blob with_topology() {
    OpaqueOps ops{};
    ops.copy_topology = [](const void* t) { return const_cast<void*>(t); };
    ops.free_topology = [](void*) {};
    ops.print_topology = [](const void*) { return strdup("<xml/>"); };
    const OpaqueOps* before = opaque_ops();
    install_opaque_ops(&ops);
    char source[] = "hwloc";
    int object = 0;
    pmix_topology_t topology = {source, &object};
    Blob bytes;
    {
        InfoList infos;
        EXPECT_STATUS(PMIX_SUCCESS, infos.append("key", &topology, PMIX_TOPO));
        EXPECT_STATUS(PMIX_SUCCESS, infos.append_string("next", "text"));
        M message;
        message.infos = std::move(infos);
        bytes = encoded(message);
    }
    install_opaque_ops(before);
    return bytes;
}

TEST(Messages, ATopologyForAProcessWithoutHwloc) {
    const OpaqueOps* before = opaque_ops();
    install_opaque_ops(nullptr);
    LogRequest request;
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, decode_message(with_topology<LogRequest>(), request)) << "not malformed";
    EventNotify event;
    ASSERT_STATUS(PMIX_SUCCESS, decode_message(with_topology<EventNotify>(), event));
    ASSERT_EQ(2u, event.infos.size());
    const pmix_value_t& value = event.infos.data()[0].value;
    ASSERT_EQ(PMIX_TOPO, value.type);
    EXPECT_STREQ("hwloc", value.data.topo->source);
    EXPECT_EQ(nullptr, value.data.topo->topology);
    EXPECT_STREQ("text", event.infos.data()[1].value.data.string);
    install_opaque_ops(before);
}

TEST(Commands, NumbersAndNamesAreUnique) {
    std::set<int> numbers;
    std::set<std::string> names;
    int count = 0;
#define WIREUP_COMMAND(number, name, request, reply, since) ++count, numbers.insert(number), names.insert(#name);
#define WIREUP_NOTIFY(number, name, message, since) ++count, numbers.insert(number), names.insert(#name);
#include "common/protocol/commands.def"
#include "support/status.h"
    EXPECT_EQ(static_cast<size_t>(count), numbers.size());
    EXPECT_EQ(static_cast<size_t>(count), names.size());
    EXPECT_STREQ("fence", command_name(static_cast<uint16_t>(Command::fence)));
    EXPECT_EQ(nullptr, command_name(0));
    for (const uint16_t never_sent : {30, 35}) EXPECT_EQ(nullptr, command_name(never_sent)) << "not to be given again";
}

TEST(Commands, ReencodeKnowsKinds) {
    ByteWriter w;
    EXPECT_STATUS(PMIX_SUCCESS, reencode_payload(FrameHeader::request(4, 1), encoded(FenceRequest{}), w));
    EXPECT_STATUS(PMIX_SUCCESS, reencode_payload(FrameHeader::notify(2), encoded(CommitRequest{}), w))
        << "no reply wanted";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reencode_payload(FrameHeader::request(999, 1), {}, w));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reencode_payload(FrameHeader::request(16, 1), {}, w)) << "an event is no request";
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, reencode_payload(FrameHeader::reply(16, 1, PMIX_SUCCESS), {}, w));
}

}  // namespace
}  // namespace pmix::common::messages_test
