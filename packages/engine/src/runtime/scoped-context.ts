/** A handler's context whose steps and waits have keys of their own. Everything else is the handler's. */
import type { Context } from "./context.ts"

type Scoped = Pick<Context, "step" | "ask" | "sleep" | "call" | "scope">

export function scopedContext(base: Context, scoped: Scoped): Context {
  return new Proxy(base, {
    // The base has private fields, so its properties are read from itself.
    get: (_, property) =>
      Object.hasOwn(scoped, property) ? scoped[property as keyof Scoped] : Reflect.get(base, property, base),
  })
}
