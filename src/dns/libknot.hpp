#pragma once
/// The parts of libknot that doxlab uses. Its headers do not declare C linkage themselves; the standard
/// headers they include come first, so that those keep C++ linkage.
///
/// Only parts that need no TLS library: knot_pkt_* would bring TSIG and with it GnuTLS into a static link.

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern "C" {
#include <libknot/descriptor.h>
#include <libknot/errcode.h>
#include <libknot/packet/rrset-wire.h>
#include <libknot/rrset-dump.h>
#include <libknot/rrset.h>
}
