/* Gravity in the plane: a request {x, y, then x, y, mass of each other body}, all doubles, is answered
 * with the force on the first, {fx, fy}. Words go straight to floating-point registers and back. */
#include <lnic.h>
#include "gravity.h"

int main(void)
{
    lnic_add_context(0, 0);
    for (;;) {
        lnic_wait();
        uint64_t header = lnic_read();
        uint64_t others = (lnic_words(lnic_header_bytes(header)) - 2) / 3;
        double x = lnic_read_double(), y = lnic_read_double(), fx = 0, fy = 0;

        for (; others; others--) {
            double dx = lnic_read_double() - x, dy = lnic_read_double() - y;
            double mass = lnic_read_double();
            add_pull(dx, dy, mass, &fx, &fy);
        }
        lnic_write_r(lnic_header(lnic_header_ip(header), lnic_header_context(header), 16));
        lnic_write_double(fx);
        lnic_write_double(fy);
        lnic_msg_done();
    }
}
