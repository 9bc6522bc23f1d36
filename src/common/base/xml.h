// SPDX-License-Identifier: BSD-3-Clause
// Text in XML, as element content and in attributes.
//
// Pure, any thread. What XML has no room for becomes a number that a reader may refuse, which is better than a document
// that ends in the middle.
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace pmix::common {

inline void append_xml(std::string_view bytes, std::string& out) {
    for (const char c : bytes) {
        switch (c) {
            case '&':
                out += "&amp;";
                break;
            case '<':
                out += "&lt;";
                break;
            case '>':
                out += "&gt;";
                break;
            case '"':
                out += "&quot;";
                break;
            default:
                if (static_cast<unsigned char>(c) >= ' ' && c != 0x7f) {
                    out += c;
                } else {
                    char number[8];
                    std::snprintf(number, sizeof number, "&#%03d;", static_cast<unsigned char>(c));
                    out += number;
                }
        }
    }
}

}  // namespace pmix::common
