/* lwIP as a microcontroller without an operating system uses it: TCP, UDP, DHCP, DNS over IPv4. */
#define NO_SYS 1
#define LWIP_SOCKET 0
#define LWIP_NETCONN 0
#define LWIP_DHCP 1
#define LWIP_DNS 1
#define MEM_ALIGNMENT 4
#define SYS_LIGHTWEIGHT_PROT 0
#define LWIP_RAND() 4
