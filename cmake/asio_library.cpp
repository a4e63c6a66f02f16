// SPDX-License-Identifier: Apache-2.0
// Asio's own function bodies, compiled once (ASIO_SEPARATE_COMPILATION).
#include <asio/impl/src.hpp>
