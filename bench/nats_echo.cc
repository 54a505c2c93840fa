// A bare responder over the NATS library of the server: answers each request on `library.echo` with
// its own bytes. bench/doors.py compiles and starts it.
#include <nats/nats.h>
#include <unistd.h>

#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  natsOptions* options = nullptr;
  natsConnection* connection = nullptr;
  natsSubscription* subscription = nullptr;
  natsOptions_Create(&options);
  natsOptions_SetURL(options, arguments[1]);
  natsOptions_SetSendAsap(options, true);
  if (natsConnection_Connect(&connection, options) != NATS_OK) return 1;
  const auto answer = [](natsConnection* to, natsSubscription*, natsMsg* message, void*) {
    natsConnection_Publish(to, natsMsg_GetReply(message), natsMsg_GetData(message),
                           natsMsg_GetDataLength(message));
    natsMsg_Destroy(message);
  };
  if (natsConnection_Subscribe(&subscription, connection, "library.echo", answer, nullptr) !=
      NATS_OK)
    return 1;
  natsConnection_Flush(connection);
  std::puts("ready");
  std::fflush(stdout);
  pause();
  return 0;
}
