// SPDX-License-Identifier: BSD-3-Clause
// OpenPMIx's messages: what the recordings do not hold, and hostile bytes.
#include <gtest/gtest.h>

#include "openpmix/hello.h"
#include "openpmix/known_types.h"
#include "openpmix/messages.h"
#include "support/status.h"

namespace pmix::openpmix::openpmix_messages_test {
namespace {

using common::Bytes;

// Each way in which the calls of a connection may be written.
std::vector<Traits> all_forms() {
    std::vector<Traits> forms;
    for (const uint8_t kind : {kNotDescribed, kFullyDescribed}) {
        forms.push_back(*traits_of("5.0.7", "v41", kind));
        forms.push_back(*traits_of("7.0.0", "v61", kind));
        forms.push_back(*traits_of("3.1.5", "v3", kind));
    }
    return forms;
}

template <class M>
std::vector<uint8_t> encoded(const M& message, const Traits& traits) {
    std::vector<uint8_t> bytes;
    EXPECT_STATUS(PMIX_SUCCESS, encode(message, traits, &bytes));
    return bytes;
}

template <class M>
M decoded(const std::vector<uint8_t>& bytes, const Traits& traits) {
    M message;
    size_t left = 1;
    EXPECT_STATUS(PMIX_SUCCESS, decode(bytes, traits, &message, &left));
    EXPECT_EQ(left, 0u);
    return message;
}

TEST(OpenPmixMessagesTest, Numbers_OfEveryWidth_Same) {
    for (const Traits& traits : all_forms()) {
        for (const size_t n : {size_t{0}, size_t{127}, size_t{128}, size_t{1} << 40, SIZE_MAX}) {
            FabricUpdateRequest m;
            m.index.value = n;
            EXPECT_EQ(decoded<FabricUpdateRequest>(encoded(m, traits), traits).index.value, n);
        }
        for (const pmix_status_t status : {0, -1, 1, -46, INT32_MIN, INT32_MAX}) {
            StatusReply m;
            m.status.value = status;
            EXPECT_EQ(decoded<StatusReply>(encoded(m, traits), traits).status.value, status);
        }
    }
}

TEST(OpenPmixMessagesTest, App_WithAllItsFields_Same) {
    for (const Traits& traits : all_forms()) {
        SpawnRequest m;
        auto apps = common::CArray<pmix_app_t>::zeroed(1);
        ASSERT_TRUE(apps.ok());
        pmix_app_t& app = (*apps)[0];
        app.cmd = strdup("/bin/true");
        app.argv = static_cast<char**>(std::calloc(3, sizeof(char*)));
        app.argv[0] = strdup("true");
        app.argv[1] = strdup("");
        app.maxprocs = 70000;
        m.apps.elements = std::move(*apps);
        const auto out = decoded<SpawnRequest>(encoded(m, traits), traits);
        ASSERT_EQ(out.apps.elements.size(), 1u);
        EXPECT_STREQ(out.apps.elements[0].cmd, "/bin/true");
        EXPECT_STREQ(out.apps.elements[0].argv[1], "");
        EXPECT_EQ(out.apps.elements[0].argv[2], nullptr);
        EXPECT_EQ(out.apps.elements[0].env, nullptr);
        EXPECT_EQ(out.apps.elements[0].maxprocs, 70000);
    }
}

TEST(OpenPmixMessagesTest, EmptyCall_AfterNoElements_IsPassedOver) {
    for (const Traits& traits : all_forms()) {
        // What a fence writes after a size of 0, at a place where nobody writes it.
        FenceRequest with_empty_call;
        std::vector<uint8_t> bytes = encoded(with_empty_call, traits);
        JobControlRequest control;
        const std::vector<uint8_t> plain = encoded(control, traits);
        EXPECT_GT(bytes.size(), plain.size());
        // The command's number is the last byte of its call.
        const size_t command = traits.form.fixed ? (traits.form.described ? 8 : 4) : (traits.form.described ? 3 : 1);
        ASSERT_EQ(bytes[command], 3);
        bytes[command] = static_cast<uint8_t>(Command::job_control);
        EXPECT_TRUE(decoded<JobControlRequest>(bytes, traits).procs.procs.empty());
    }
}

TEST(OpenPmixMessagesTest, NullText_IsNotAnEmptyOne) {
    for (const Traits& traits : all_forms()) {
        ResolvePeersRequest m;
        m.nspace = Text("");
        const auto out = decoded<ResolvePeersRequest>(encoded(m, traits), traits);
        EXPECT_TRUE(out.node.null);
        EXPECT_FALSE(out.nspace.null);
    }
}

TEST(OpenPmixMessagesTest, Reply_StatusAlone_HasNothingElse) {
    for (const Traits& traits : all_forms()) {
        StatusReply status;
        status.status.value = PMIX_ERR_NOT_FOUND;
        const auto bytes = encoded(status, traits);
        EXPECT_FALSE(decoded<LookupReply>(bytes, traits).data);
        EXPECT_TRUE(decoded<GetReply>(bytes, traits).objects.objects.empty());
        EXPECT_FALSE(decoded<GroupReply>(bytes, traits).members);
    }
}

TEST(OpenPmixMessagesTest, GroupReply_WithAndWithoutContextId) {
    for (const Traits& traits : all_forms()) {
        GroupReply m;
        m.members.emplace().procs = {{"job", 0}, {"job", 1}};
        m.context_id.emplace();
        m.infos.emplace();
        auto out = decoded<GroupReply>(encoded(m, traits), traits);
        EXPECT_FALSE(out.context_id->given);
        ASSERT_TRUE(out.infos);
        m.context_id = ContextId{true, 42};
        out = decoded<GroupReply>(encoded(m, traits), traits);
        EXPECT_EQ(out.context_id->id, 42u);
        EXPECT_EQ(out.members->procs, m.members->procs);
    }
}

TEST(OpenPmixMessagesTest, EmptyArray_WithAndWithoutItsSize) {
    // KVAL "k": a data array without a type, and behind it "l": a flag.
    const std::vector<uint8_t> with_size = {2, 4, 'k', 0, 39, 0, 0, 2, 4, 'l', 0, 1, 1};
    const std::vector<uint8_t> without = {2, 4, 'k', 0, 39, 0, 2, 4, 'l', 0, 1, 1};
    const Traits old = *traits_of("6.0.0", "v51", 1);
    const Traits recent = *traits_of("6.1.0", "v61", 1);
    EXPECT_EQ(decoded<SectionData>(with_size, old).values.pairs.size(), 2u);
    EXPECT_EQ(decoded<SectionData>(without, recent).values.pairs.size(), 2u);
    // It is written so that all read it.
    const std::vector<uint8_t> of_infos = {2, 4, 'k', 0, 39, 24, 0, 2, 4, 'l', 0, 1, 1};
    EXPECT_EQ(encoded(decoded<SectionData>(with_size, old), recent), of_infos);
    EXPECT_EQ(encoded(decoded<SectionData>(without, recent), old), of_infos);
}

TEST(OpenPmixMessagesTest, Described_OtherTypeOrNone_Refused) {
    const Traits plain = *traits_of("4.2.2", "v41", kNotDescribed);
    const Traits described = *traits_of("4.2.2", "v41", kFullyDescribed);
    StatusReply status;
    FenceRequest fence;
    StatusReply out;
    EXPECT_NE(decode(encoded(status, plain), described, &out), PMIX_SUCCESS);
    FabricUpdateRequest size;
    EXPECT_NE(decode(encoded(fence, described), described, &size), PMIX_SUCCESS);
    // The same bytes, said to be a number of another type.
    std::vector<uint8_t> bytes = encoded(status, described);
    ASSERT_EQ(bytes, (std::vector<uint8_t>{PMIX_INT32, 2, PMIX_STATUS, 0}));
    EXPECT_STATUS(PMIX_SUCCESS, decode(bytes, described, &out));
    bytes[2] = PMIX_INT32;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode(bytes, described, &out));
}

TEST(OpenPmixMessagesTest, Counts_BeyondTheBytes_Refused) {
    for (const Traits& traits : all_forms()) {
        FenceRequest m;
        m.procs.procs.assign(3, {"job", 1});
        const std::vector<uint8_t> bytes = encoded(m, traits);
        for (size_t at = 0; at < bytes.size(); ++at) {
            std::vector<uint8_t> torn = bytes;
            torn.resize(at);
            FenceRequest out;
            EXPECT_NE(decode(torn, traits, &out), PMIX_SUCCESS) << at;
            torn = bytes;
            torn[at] = 0xff;
            (void)decode(torn, traits, &out);
        }
    }
}

// A few bytes of message ask for gigabytes of structs.
TEST(OpenPmixMessagesTest, Elements_ThatTakeMoreMemoryThanIsGranted_Refused) {
    const Traits traits = *traits_of("4.2.2", "v41", 1);
    // A query's reply: status, then so many infos of four bytes each.
    constexpr uint32_t kInfos = 1000000;
    std::vector<uint8_t> bytes = {2, 0, 2};
    uint8_t number[common::kMaxFlexBytes];
    bytes.insert(bytes.end(), number, common::put_flex(number, kInfos));
    bytes.insert(bytes.end(), number, common::put_flex(number, common::fold(kInfos)));
    for (uint32_t i = 0; i < kInfos; ++i) bytes.insert(bytes.end(), {0, 0, 0});
    InfosReply out;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode(bytes, traits, &out));
}

TEST(OpenPmixMessagesTest, Section_OfTheOtherKind_Refused) {
    const Traits plain = *traits_of("4.2.2", "v41", kNotDescribed);
    CommitRequest m;
    m.sections.sections.push_back({PMIX_LOCAL, {}});
    std::vector<uint8_t> bytes = encoded(m, plain);
    ASSERT_EQ(bytes.back(), 0);
    EXPECT_EQ(bytes[bytes.size() - 2], kNotDescribed);
    bytes[bytes.size() - 2] = kFullyDescribed;
    CommitRequest out;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode(bytes, plain, &out));
}

TEST(OpenPmixMessagesTest, Encode_OfWhatCannotBe_LeavesTheBytes) {
    const Traits traits = *traits_of("4.2.2", "v41", 1);
    SectionData m;
    m.values.pairs.emplace_back().key = "k";
    m.values.pairs[0].value.c_ptr()->type = 40000;
    std::vector<uint8_t> bytes = {1, 2, 3};
    EXPECT_STATUS(PMIX_ERR_UNKNOWN_DATA_TYPE, encode(m, traits, &bytes));
    EXPECT_EQ(bytes.size(), 3u);
    m.values.pairs[0].value.c_ptr()->type = PMIX_UNDEF;
}

// One that the release cannot read would end its reading of the message.
TEST(OpenPmixMessagesTest, Encode_OfTypesThatTheReleaseLacks_IsNotSupported) {
    const auto array = [](void* elements, size_t n, pmix_data_type_t type) {
        return pmix_data_array_t{type, n, elements};
    };
    pmix_node_pid_t pid{};
    pmix_data_array_t pids = array(&pid, 1, PMIX_NODE_PID);
    pmix_data_array_t pids_in_array = array(&pids, 1, PMIX_DATA_ARRAY);
    pmix_info_t info;
    PMIX_INFO_CONSTRUCT(&info);
    info.value.type = PMIX_DATA_ARRAY;
    info.value.data.darray = &pids;
    pmix_data_array_t infos = array(&info, 1, PMIX_INFO);
    pmix_data_array_t values = array(&info.value, 1, PMIX_VALUE);
    for (pmix_data_array_t* held : {&pids, &pids_in_array, &infos, &values}) {
        SectionData m;
        m.values.pairs.emplace_back().key = "k";
        m.values.pairs[0].value.c_ptr()->type = PMIX_DATA_ARRAY;
        m.values.pairs[0].value.c_ptr()->data.darray = held;
        std::vector<uint8_t> bytes;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, encode(m, *traits_of("5.0.7", "v41", 1), &bytes));
        EXPECT_TRUE(bytes.empty());
        EXPECT_STATUS(PMIX_SUCCESS, encode(m, *traits_of("6.1.0", "v61", 1), &bytes));
        m.values.pairs[0].value.c_ptr()->type = PMIX_UNDEF;  // nothing in it is the value's
    }
    for (const char* version : {"5.0.7", "6.1.0"}) {
        const bool knows = version[0] == '6';
        const Traits traits = *traits_of(version, knows ? "v61" : "v41", 1);
        const pmix_status_t wanted = knows ? PMIX_SUCCESS : PMIX_ERR_NOT_SUPPORTED;
        pmix_app_t app{};
        app.info = &info;
        app.ninfo = 1;
        pmix_query_t query{};
        query.qualifiers = &info;
        query.nqual = 1;
        EXPECT_EQ(is_known(traits, info.value), knows);
        EXPECT_EQ(holds_known_types(traits, &app, 1, PMIX_APP), knows);
        EXPECT_EQ(holds_known_types(traits, &query, 1, PMIX_QUERY), knows);
        SpawnRequest spawn;
        spawn.apps.elements = std::move(common::CArray<pmix_app_t>::copy_of(&app, 1)).value();
        std::vector<uint8_t> bytes;
        EXPECT_EQ(encode(spawn, traits, &bytes), wanted);
    }
}

// What clients of 7.0 are told unasked.
TEST(OpenPmixMessagesTest, Notices_OfTheNewestRelease_HaveTheirBytes) {
    const Traits traits = *traits_of("7.0.0rc1", "v61", kNotDescribed);
    DeletionMessage deletion;
    deletion.proc.id = {"job", 3};
    deletion.scope.value = PMIX_DEL_GLOBAL;
    deletion.key = Text("k");
    const std::vector<uint8_t> deleted{2, 8, 'j', 'o', 'b', 0, 3, 2, 7, 2, 4, 'k', 0};
    EXPECT_EQ(encoded(deletion, traits), deleted);
    const auto read_deletion = decoded<DeletionMessage>(deleted, traits);
    EXPECT_EQ(read_deletion.proc.id, deletion.proc.id);
    EXPECT_EQ(read_deletion.scope.value, PMIX_DEL_GLOBAL);
    EXPECT_EQ(read_deletion.key.text, "k");

    FlowMessage flow;
    flow.source.id = {"", PMIX_RANK_WILDCARD};
    flow.channel.value = PMIX_FWD_STDIN_CHANNEL;
    flow.stop.value = true;
    const std::vector<uint8_t> stopped{2, 2, 0, 0xfe, 0xff, 0xff, 0xff, 0x0f, 2, 1, 2, 1, 2, 0};
    EXPECT_EQ(encoded(flow, traits), stopped);
    const auto read_flow = decoded<FlowMessage>(stopped, traits);
    EXPECT_EQ(read_flow.source.id, flow.source.id);
    EXPECT_TRUE(read_flow.stop.value);
    EXPECT_EQ(read_flow.channel.value, PMIX_FWD_STDIN_CHANNEL);
}

TEST(OpenPmixMessagesTest, Command_OfAnotherRequest_Refused) {
    const Traits traits = *traits_of("4.2.2", "v41", 1);
    FinalizeRequest out;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, decode(encoded(JobDataRequest{}, traits), traits, &out));
    uint8_t command = 0;
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, read_command({}, traits, &command));
}

}  // namespace
}  // namespace pmix::openpmix::openpmix_messages_test
