/* Datatypes from an MPI library. */
#ifndef DDT_MPI_H
#define DDT_MPI_H

#include <mpi.h>

#include "ddt.h"

/* Reads a committed datatype from the MPI library by the standard's envelope and contents calls.
 * `representation` is that of the messages' data: "native"; handlers convert nothing. */
ddt_type_t *ddt_from_mpi(MPI_Datatype mpi_type, const char *representation, ddt_error_t *error);

#endif
