/* SPDX-License-Identifier: MIT */
/* link_plugin.c - what link_main.c loads and unloads. Built as C++ too. */
#include <sonde/tracepoint.h>

#ifdef __cplusplus
extern "C"
#endif
	SONDE_EXPORT void
	plugin_event(int x);

#ifdef __cplusplus
template <class T> inline void in_template(T x)
{
	sonde_event(link, plugin, x, "text");
}
#endif

void plugin_event(int x)
{
#ifdef __cplusplus
	in_template(x);
#else
	sonde_event(link, plugin, x, "text");
#endif
}
