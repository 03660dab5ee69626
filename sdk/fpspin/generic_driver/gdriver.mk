# For Makefiles of FPsPIN applications, which include ../generic_driver/gdriver.mk: `make all` makes
# the image and, where there is a driver/driver.c, the driver that runs it in the simulator (libpspin).
# A generic driver (gdriver.c) that lies beside this file is compiled along.

SPIN_DRIVER_CC ?= gcc
SPIN_DRIVER_SRCS = $(wildcard driver/driver.c)

all:: deploy $(if $(SPIN_DRIVER_SRCS),driver)

driver: $(SPIN_DRIVER_SRCS)
	$(SPIN_DRIVER_CC) -std=gnu99 -I../generic_driver -I$(PSPIN_RT)/runtime/include \
	    -I$(PSPIN_HW)/verilator_model/include $(SPIN_DRIVER_CFLAGS) \
	    $(SPIN_DRIVER_SRCS) $(wildcard ../generic_driver/*.c) \
	    -L$(PSPIN_HW)/verilator_model/lib -lpspin $(SPIN_DRIVER_LDFLAGS) -o sim_$(SPIN_APP_NAME)

clean::
	rm -rf build sim_$(SPIN_APP_NAME)

.PHONY: driver clean
