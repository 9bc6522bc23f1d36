// SPDX-License-Identifier: BSD-3-Clause
// The read side: precedence, listing, retirement, and segments in which any byte may be wrong.
#include "dstore/reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "dstore/layout.h"
#include "support/status.h"
#include "support/store_values.h"

namespace pmix::dstore::reader_test {
namespace {

using namespace test;
using namespace layout;

// A little of everything: columns, computed facts, placement, chains, an index block, contributions of other nodes.
std::unique_ptr<Writer> small_store() {
    auto w = make_writer();
    const auto map = common::parse_proc_map(std::string_view("0,2;1,3")).value();
    const std::vector<std::string> nodes = {"alpha", "beta"};
    const uint32_t ids[] = {70, 71};
    const AppRange apps[] = {{0, 4}};
    EXPECT_STATUS(PMIX_SUCCESS, w->set_placement({&map, nodes, ids, {}, apps}));
    ColumnBuilder b(OwnerKind::proc);
    for (uint32_t r = 0; r < 4; ++r) {
        b.set(r, "pmix.rank", rank(r));
        if (r != 2) b.set(r, "pmix.loc", text(r < 2 ? "near" : "far"));
        b.set(r, "pmix.num", u16(static_cast<uint16_t>(r * r)));
    }
    b.compute("pmix.hname", Computed::node_name, PMIX_STRING, 0);
    b.compute("pmix.lpeers", Computed::local_peers, PMIX_STRING, 0);
    EXPECT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
    for (uint32_t i = 0; i < 6; ++i) {
        EXPECT_STATUS(PMIX_SUCCESS,
                      w->put(Owner::job(), Records().add("job." + std::to_string(i), u32(i)).add("n", u32(i)).list()));
    }
    EXPECT_STATUS(PMIX_SUCCESS, w->put(Owner::proc_info(1), Records().add("pmix.pinned", text("host")).list()));
    w->add_local(1);
    EXPECT_TRUE(w->commit(1, Records().add("pmix.pinned", text("self")).add("own", text("x")).list()).ok());
    Records many;
    for (uint32_t i = 0; i < 20; ++i) many.add("many." + std::to_string(i), u32(i));
    EXPECT_EQ(w->ingest(chunk_of(3, {1, 0, true}, many)).blocks, 1u);
    EXPECT_EQ(w->ingest(chunk_of(5000, {1, 0, true}, Records().add("far", u32(1)))).blocks, 1u);
    return w;
}

void ask_everything(const Reader& r) {
    static const char* const keys[] = {"pmix.rank", "pmix.loc", "pmix.num",    "pmix.hname", "pmix.lpeers",
                                       "job.0",     "n",        "pmix.pinned", "own",        "many.0",
                                       "many.19",   "far",      "nothing"};
    size_t sum = 0;
    auto use = [&](const Found& f) {
        for (uint8_t b : f.bytes()) sum += b;
    };
    const Owner owners[] = {Owner::job(),   Owner::node(0),    Owner::node(1),
                            Owner::proc(0), Owner::proc(1),    Owner::proc(2),
                            Owner::proc(3), Owner::proc(5000), Owner::proc(4'000'000'000u)};
    for (const char* name : keys) {
        const Key key(name);
        for (const Owner& o : owners) {
            Found f;
            if (r.find(o, key, f) == PMIX_SUCCESS) use(f);
        }
        Found f;
        if (r.find_any_rank(key, f) == PMIX_SUCCESS) use(f);
    }
    for (const Owner& o : owners) {
        r.for_each(o, [&](std::string_view key, const Found& f) {
            for (char c : key) sum += static_cast<uint8_t>(c);
            use(f);
        });
        r.generation_of(o.index);
        r.has_commits(o.index);
        r.node_of(o.index);
        r.local_rank(o.index);
        r.app_of(o.index);
    }
    for (const char* name : {"alpha", "beta", "gamma"}) r.node_by_name(name);
    for (uint32_t n : {0u, 1u, 2u}) {
        r.node_name(n);
        r.local_size(n);
        r.rank_on(n, n);
        r.node_by_id(70 + n);
        r.app(n);
    }
    r.publications();
    r.nodes();
    EXPECT_LT(sum, SIZE_MAX);  // all bytes were read
}

Buffer image_of(const Writer& w) {
    Buffer image(w.published_bytes());
    EXPECT_EQ(pread(w.descriptor(), image.data(), image.size(), 0), static_cast<ssize_t>(image.size()));
    return image;
}

// The header, once more.
TEST(Reader, HeaderBytes) {
    WriterOptions options;
    options.origin = 0x1122334455667788;
    options.reservation = 1 << 20;
    auto w = make_writer(options);
    Buffer image = image_of(*w);
    ASSERT_EQ(image.size(), 256u);
    Buffer expected(256);
    const uint8_t first[] = {'W', 'U', 'S', 'T', 'O', 'R', 'E', 1};
    std::copy(std::begin(first), std::end(first), expected.begin());
    common::store_le<uint64_t>(&expected[8], kStamp);
    expected[18] = 16;
    common::store_le<uint64_t>(&expected[24], 0x1122334455667788);
    expected[65] = 1;
    EXPECT_EQ(image, expected);

    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::app(3), Records().add("key", u16(0xbeef)).list()));
    image = image_of(*w);
    // Dictionary entry, leaf, block.
    ASSERT_EQ(image.size(), 256u + 4096 + 16 + 64);
    EXPECT_EQ(common::load_le<uint64_t>(&image[64]), image.size());
    EXPECT_EQ(image[72], 1);
    EXPECT_EQ(common::load_le<uint32_t>(&image[128 + 4 * 2]), (256u + 16) / 8);
    EXPECT_EQ(common::load_le<uint32_t>(&image[256 + 16 + 4 * 3]), (256u + 4096 + 16) / 8);
    const Buffer block(image.begin() + 256 + 4096 + 16, image.end());
    Buffer wanted = {3, 0, 0, 0, 2, 0, 1, 0, 1, 0, 0, 0, 8, 0, 0,           0, 0,    0,    0, 0, 0, 0,
                     0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 8,           0, 0,    0,    0, 0, 0, 0,
                     6, 0, 0, 0, 8, 2, 0, 0, 4, 0, 0, 0, 0, 0, PMIX_UINT16, 0, 0xef, 0xbe, 0, 0};
    common::store_le<uint32_t>(&wanted[40], hash_key("key"));
    EXPECT_EQ(block, wanted);
}

TEST(Reader, HostGoesBeforeProcessForReservedKeys) {
    auto w = small_store();
    auto r = open_reader(*w);
    EXPECT_EQ(get(*r, Owner::proc(1), "pmix.pinned"), text("host"));
    EXPECT_EQ(get(*r, Owner::proc(1), "own"), text("x"));
    w->add_local(2);
    ASSERT_TRUE(
        w->commit(2,
                  Records().add("pmix.hname", text("liar")).add("pmix.loc", text("mine")).add("free", text("p")).list())
            .ok());
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::proc_info(2), Records().add("free", text("h")).list()));
    EXPECT_EQ(get(*r, Owner::proc(2), "pmix.hname"), text("alpha"));
    EXPECT_EQ(get(*r, Owner::proc(2), "pmix.loc"), text("mine"));  // the host said nothing about this rank
    EXPECT_EQ(get(*r, Owner::proc(2), "free"), text("p"));
}

TEST(Reader, ListsEachKeyOnce) {
    auto w = small_store();
    auto r = open_reader(*w);
    std::map<std::string, Buffer> all;
    auto list = [&](Owner o) {
        all.clear();
        return r->for_each(o, [&](std::string_view key, const Found& f) {
            EXPECT_TRUE(all.emplace(std::string(key), copy_of(f)).second) << key;
        });
    };
    ASSERT_STATUS(PMIX_SUCCESS, list(Owner::proc(1)));
    const std::map<std::string, Buffer> expected = {
        {"own", text("x")},   {"pmix.hname", text("beta")},  {"pmix.loc", text("near")}, {"pmix.lpeers", text("1,3")},
        {"pmix.num", u16(1)}, {"pmix.pinned", text("host")}, {"pmix.rank", rank(1)},
    };
    EXPECT_EQ(all, expected);
    ASSERT_STATUS(PMIX_SUCCESS, list(Owner::job()));
    EXPECT_EQ(all.size(), 7u);
    EXPECT_EQ(all["n"], u32(5));
    ASSERT_STATUS(PMIX_SUCCESS, list(Owner::proc(3)));
    EXPECT_EQ(all.size(), 25u);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, list(Owner::proc(77)));
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, list(Owner::session(0)));
}

TEST(Reader, AnyRank) {
    auto w = small_store();
    auto r = open_reader(*w);
    Found f;
    ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("far"), f));
    EXPECT_EQ(f.index(), 5000u);
    ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("many.7"), f));
    EXPECT_EQ(f.index(), 3u);
    EXPECT_EQ(copy_of(f), u32(7));
    ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("pmix.pinned"), f));
    EXPECT_EQ(f.index(), 1u);
    EXPECT_EQ(copy_of(f), text("host"));
    ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("pmix.hname"), f));
    EXPECT_EQ(f.index(), 0u);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, r->find_any_rank(Key("none"), f));
}

TEST(Reader, FindAnyRank_OfKeyThatSeveralRanksHave_TakesTheLowest) {
    auto w = make_writer();
    auto r = open_reader(*w);
    for (const uint32_t from : {9u, 4u, 6u, 5000u}) {
        EXPECT_EQ(w->ingest(chunk_of(from, {1, 0, true}, Records().add("k", u32(from)))).blocks, 1u);
    }
    Found f;
    ASSERT_STATUS(PMIX_SUCCESS, r->find_any_rank(Key("k"), f));
    EXPECT_EQ(f.index(), 4u);
    EXPECT_EQ(copy_of(f), u32(4));
}

TEST(Reader, Find_WhereAReferenceLeadsOutside_IsAnErrorAndNoMiss) {
    auto w = make_writer();
    ASSERT_STATUS(PMIX_SUCCESS, w->put(Owner::app(3), Records().add("key", u16(1)).list()));
    Buffer image = image_of(*w);
    common::store_le<uint32_t>(&image[256 + 16 + 4 * 3], 0x7fffffff);  // the newest block of application 3
    auto mapping = Mapping::over(image.data(), image.size());
    pmix_status_t rc = PMIX_SUCCESS;
    get(Reader(*mapping), Owner::app(3), "key", &rc);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, rc);
    get(Reader(*mapping), Owner::app(2), "key", &rc);
    EXPECT_STATUS(PMIX_ERR_NOT_FOUND, rc);
}

TEST(Reader, Find_WhereAColumnNamesAValueThatItHasNot_IsAnError) {
    auto w = make_writer();
    ColumnBuilder b(OwnerKind::proc);
    b.set(0, "k", text("near"));
    b.set(1, "k", text("far"));
    ASSERT_STATUS(PMIX_SUCCESS, w->add_columns(std::move(b)));
    Buffer image = image_of(*w);
    const size_t catalog = size_t{load_ref(&image[kHdrCatalog])} * kUnit;
    uint8_t* const column = &image[catalog + kCatHashes + padded(4)];
    ASSERT_EQ(get32(column + kColNValues), 2u);
    put32(column + kColNValues, 1);
    auto mapping = Mapping::over(image.data(), image.size());
    EXPECT_EQ(get(Reader(*mapping), Owner::proc(0), "k"), text("near"));
    pmix_status_t rc = PMIX_SUCCESS;
    get(Reader(*mapping), Owner::proc(1), "k", &rc);
    EXPECT_STATUS(PMIX_ERR_UNPACK_FAILURE, rc);
}

TEST(Reader, OnlyTakesOurSealedSegments) {
    EXPECT_FALSE(Reader::open(-1).ok());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, Reader::open(open("/dev/null", O_RDONLY | O_CLOEXEC)).status());
    auto w = small_store();
    const Buffer image = image_of(*w);
    auto file_with = [&](const Buffer& bytes, bool sealed) {
        const int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        EXPECT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
        if (sealed) {
            EXPECT_EQ(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK), 0);
        }
        return fd;
    };
    EXPECT_TRUE(Reader::open(file_with(image, true)).ok());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, Reader::open(file_with(image, false)).status());
    EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED,
                  Reader::open(file_with(Buffer(image.begin(), image.begin() + 100), true)).status());
    for (size_t i : {0u, 8u}) {
        Buffer other = image;
        other[i] ^= 1;
        EXPECT_STATUS(PMIX_ERR_NOT_SUPPORTED, Reader::open(file_with(other, true)).status());
    }
    // A header that promises more than the file has is not followed into a signal.
    Buffer liar = image;
    common::store_le<uint64_t>(&liar[kHdrPublished], 1u << 30);
    liar[kHdrLeaf] = 0xff;
    liar[kHdrLeaf + 2] = 0xff;
    auto r = Reader::open(file_with(liar, true)).value();
    ask_everything(*r);
}

namespace {

// Is the page of this byte mapped?
bool is_mapped(const uint8_t* p) {
    const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    unsigned char in_core = 0;
    return mincore(reinterpret_cast<void*>(reinterpret_cast<uintptr_t>(p) / page * page), 1, &in_core) == 0;
}

}  // namespace

TEST(Reader, LetGo_ValuesBorrowed_UnmapsAllButTheirPages) {
    auto w = make_writer();
    for (uint32_t i = 0; i < 8; ++i)
        ASSERT_STATUS(PMIX_SUCCESS,
                      w->put(Owner::app(i), Records().add("b", blob(20'000, static_cast<uint8_t>(i))).list()));
    auto r = open_reader(*w);
    Found a, b, c;
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::app(6), Key("b"), a));
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::app(2), Key("b"), b));
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::app(4), Key("b"), c));
    const Buffer elsewhere(100);
    const common::Bytes borrowed[] = {a.bytes(), b.bytes(), elsewhere};
    EXPECT_TRUE(r->let_go(borrowed));
    w.reset();
    EXPECT_EQ(copy_of(a), blob(20'000, 6));
    EXPECT_EQ(copy_of(b), blob(20'000, 2));
    EXPECT_FALSE(is_mapped(c.bytes().data() + 8'000));
    const uint8_t* inside = a.bytes().data() + 8'000;
    EXPECT_TRUE(is_mapped(inside));
    r.reset();
    EXPECT_FALSE(is_mapped(inside));
}

TEST(Reader, LetGo_NothingBorrowed_UnmapsAll) {
    auto w = small_store();
    auto r = open_reader(*w);
    Found found;
    ASSERT_STATUS(PMIX_SUCCESS, r->find(Owner::proc(1), Key("own"), found));
    EXPECT_FALSE(r->let_go({}));
    EXPECT_FALSE(is_mapped(found.bytes().data()));
}

// ASan and the watch on every test say that nothing is read outside and nothing runs for ever.
TEST(Reader, EveryByteChanged) {
    auto w = small_store();
    const Buffer image = image_of(*w);
    size_t changed = 0;
    for (size_t i = 0; i < image.size(); ++i) {
        // The tables are large and mostly empty: every entry that is used, and a few others.
        if (image[i] == 0 && i % 509 != 0 &&
            (i < 4 ||
             std::all_of(&image[i & ~size_t{7}], &image[i & ~size_t{7}] + 8, [](uint8_t b) { return b == 0; })))
            continue;
        for (unsigned change : {0x01u, 0xffu}) {
            auto copy = std::make_unique<uint8_t[]>(image.size());  // exactly as long, so that ASan sees the end
            std::copy(image.begin(), image.end(), copy.get());
            copy[i] ^= static_cast<uint8_t>(change);
            auto mapping = Mapping::over(copy.get(), image.size());
            ask_everything(Reader(*mapping));
            ++changed;
        }
    }
    EXPECT_GT(changed, 1000u);
}

TEST(Reader, EveryTruncation) {
    auto w = small_store();
    const Buffer image = image_of(*w);
    for (size_t n = 0; n < image.size(); n += n < 512 ? 1 : 97) {
        auto copy = std::make_unique<uint8_t[]>(n);
        std::copy(image.begin(), image.begin() + static_cast<ptrdiff_t>(n), copy.get());
        auto mapping = Mapping::over(copy.get(), n);
        ask_everything(Reader(*mapping));
    }
}

}  // namespace
}  // namespace pmix::dstore::reader_test
