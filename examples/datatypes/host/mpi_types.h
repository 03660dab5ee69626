/* Builds MPI datatypes from the notation of ddt_text.c, each by the MPI call of its name. */
#ifndef MPI_TYPES_H
#define MPI_TYPES_H

#include <mpi.h>

/* Returns an uncommitted datatype; "simple" and "complex_nested" are the paper's; ends the program
 * when the text is no datatype. */
MPI_Datatype make_mpi_type(const char *text);

#endif
