# For Makefiles of PsPIN projects, which set SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS and include
# $(PSPIN_RT)/rules/spin-handlers.mk: `make deploy` compiles the handlers into build/SPIN_APP_NAME.
#
# The program is loaded from that ELF: no memory images are made. Link-time optimisation is left out:
# the runtime is assembly and compiled along. PINION_CC=gcc|zig|PATH chooses the compiler.

PINION ?= pinion
PINION_CC ?=

deploy::
	$(PINION) pspin compile --out build/$(SPIN_APP_NAME) $(if $(PINION_CC),--cc $(PINION_CC)) \
	    $(SPIN_APP_SRCS) -- $(filter-out -flto%,$(SPIN_CFLAGS))

trace trace-chrome info stats::
	@echo "make $@: the published model's logs are not there; the driver prints statistics at its end" >&2
	@exit 1
