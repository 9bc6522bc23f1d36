// SPDX-License-Identifier: BSD-3-Clause
// The program for which headers.h is compiled.
