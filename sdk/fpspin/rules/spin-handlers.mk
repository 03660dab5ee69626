# For Makefiles of FPsPIN applications, which set SPIN_APP_NAME, SPIN_APP_SRCS and SPIN_CFLAGS and
# include $(PSPIN_RT)/rules/spin-handlers.mk: `make deploy` compiles the handlers into the image
# build/SPIN_APP_NAME, which the host program gives to fpspin_init.
#
# Link-time optimisation is left out: the runtime is assembly and compiled along; libraries are part of
# the runtime. PINION_CC=gcc|zig|PATH chooses the compiler, PINION_MACHINE the NIC.

PINION ?= pinion
PINION_CC ?=
PINION_MACHINE ?= fpspin

deploy::
	$(PINION) pspin compile --ethernet --machine $(PINION_MACHINE) --out build/$(SPIN_APP_NAME) \
	    $(if $(PINION_CC),--cc $(PINION_CC)) \
	    $(SPIN_APP_SRCS) -- $(filter-out -flto%,$(SPIN_CFLAGS))

trace trace-chrome info stats::
	@echo "make $@: the published model's logs are not there; \`pinion run --trace\` has its own" >&2
	@exit 1
