// SPDX-License-Identifier: Apache-2.0
// InitProducerId: a producer id that nobody had before, for idempotent producers.
#include "server/error_map.h"
#include "server/handlers.h"
#include "server/on.h"

namespace lastword::server {

awaitable<InitProducerIdResponse> init_producer_id(Context& context, const Request& info,
                                                   InitProducerIdRequest request) {
  InitProducerIdResponse response;
  // A transactional id, also an empty one, asks for what is not here; this code makes clients stop.
  const bool half_given = (request.producer_id < 0) != (request.producer_epoch < 0);
  if (request.transactional_id || half_given) {
    response.error_code = ErrorCode::kInvalidRequest;
    // The answer has no room for a reason.
    if (request.transactional_id) {
      context.notices.say(storage::Severity::kWarning,
                          "refused a transactional producer of " + client_text(info) +
                              ": this broker has no transactions, leave out transactional.id");
    }
    co_return response;
  }
  const auto id = co_await on(context.disk, [&] { return context.store.next_producer_id(); });
  if (!id) {
    response.error_code = wire_code(id.error().kind);
    co_return response;
  }
  response.producer_id = *id;
  response.producer_epoch = 0;
  co_return response;
}

}  // namespace lastword::server
