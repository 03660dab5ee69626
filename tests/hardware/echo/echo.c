/* What blocks of a nanoPU run with: all harts send messages of any length back as they came. */
#include <lnic.h>

bool is_single_core(void)
{
	return false;
}

int core_main(int argc, char **argv, int cid, int nc)
{
	(void)argc, (void)argv, (void)cid, (void)nc;
	lnic_add_context(0, 0);
	for (;;) {
		lnic_wait();
		uint64_t header = lnic_read();
		uint64_t words = lnic_words(lnic_header_bytes(header));
		lnic_write_r(header);
		for (; words; words--)
			lnic_copy();
		lnic_msg_done();
	}
}
