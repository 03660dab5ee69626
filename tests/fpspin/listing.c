/* The paper's way to install handlers: an ICMP echo server that answers on the NIC. */
#include "fpspin/fpspin.h"
#include <unistd.h>

void ruleset_icmp_echo(fpspin_ruleset_t *rs) {
  *rs = (fpspin_ruleset_t){
      .mode = FPSPIN_MODE_AND,
      .r = {
          FPSPIN_RULE_IP,
          FPSPIN_RULE_IP_PROTO(1), // ICMP
          ((struct fpspin_rule){
              .idx = 8,
              .mask = 0xff00,
              .start = 0x0800,
              .end = 0x0800}), // ICMP Echo-Request
          FPSPIN_RULE_FALSE, // no EOM
      },
  };
}

int main(int argc, char *argv[]) {
  fpspin_ctx_t ctx;
  fpspin_ruleset_t rs;
  ruleset_icmp_echo(&rs);
  fpspin_init(&ctx, "/dev/pspin0", "build/pingpong",
              0 /*dst ctxt*/, &rs, 1 /*dst ruleset*/,
              FPSPIN_HOSTDMA_PAGES_DEFAULT);
  while (1) {
    sleep(10);
  }
  fpspin_exit(&ctx);
}
