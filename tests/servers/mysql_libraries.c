/* What MySQL's program links against and does not call as the tests start it: libaio and libnuma. */

/* libaio.so.1: not called with --innodb-use-native-aio=0. */
int io_setup(void) { return -1; }
int io_submit(void) { return -1; }
int io_getevents(void) { return -1; }

/* libnuma.so.1: after the first answer no other function is called. */
int numa_available(void) { return -1; }
void *numa_all_nodes_ptr;
void *numa_alloc_local(void) { return 0; }
void *numa_alloc_onnode(void) { return 0; }
void numa_free(void) {}
int numa_node_of_cpu(void) { return -1; }
long mbind(void) { return -1; }
long set_mempolicy(void) { return -1; }
