/** A client of a server, for browsers and Node. */
export * from "@superstep/client"
export * from "@superstep/client/watch"
