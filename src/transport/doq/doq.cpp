#include "transport/doq/doq.hpp"

#include "transport/framing/framing.hpp"

namespace doxlab::transport {

std::string to_string(DoqError error) {
  switch (error) {
    case DoqError::NoError:
      return "DOQ_NO_ERROR";
    case DoqError::InternalError:
      return "DOQ_INTERNAL_ERROR";
    case DoqError::ProtocolError:
      return "DOQ_PROTOCOL_ERROR";
    case DoqError::RequestCancelled:
      return "DOQ_REQUEST_CANCELLED";
    case DoqError::ExcessiveLoad:
      return "DOQ_EXCESSIVE_LOAD";
    case DoqError::Unspecified:
      break;
  }
  return "DOQ_UNSPECIFIED_ERROR";
}

DoqError doq_error_from(std::uint64_t code) {
  return code <= static_cast<std::uint64_t>(DoqError::ExcessiveLoad) ? static_cast<DoqError>(code)
                                                                     : DoqError::Unspecified;
}

Bytes doq_frame(BytesView message) {
  Bytes out = frame(message);
  if (message.size() >= 2) out[kLengthPrefixOctets] = out[kLengthPrefixOctets + 1] = 0;
  return out;
}

}  // namespace doxlab::transport
