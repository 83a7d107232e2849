/**
 * Refuses bodies that are too large. Most requests say how large theirs is: hono's middleware would turn each of them into a
 * web stream first, which costs more than the rest of the route.
 */
import type { MiddlewareHandler } from "hono"
import { bodyLimit } from "hono/body-limit"
import { problem } from "./problem.ts"

export function limitBody(maxSize: number): MiddlewareHandler {
  const onError = () => problem(413, "BODY_TOO_LARGE", `The body has more than ${maxSize} bytes.`)
  const counted = bodyLimit({ maxSize, onError })
  return (c, next) => {
    const { method } = c.req
    // A web Request with these methods has no body.
    if (method === "GET" || method === "HEAD") return next()
    const length = c.req.header("content-length")
    if (length === undefined || c.req.header("transfer-encoding") !== undefined) return counted(c, next)
    return Number(length) <= maxSize ? next() : Promise.resolve(onError())
  }
}
