/** How requests are authenticated. Keys and tokens come as `Authorization: Bearer …`; cookies never count. */
import type { Principal } from "../access.ts"

/** Who sends this request; undefined: nobody that it knows. */
export type Auth = (request: Request) => Principal | undefined | Promise<Principal | undefined>

/** The first of them that knows who sends a request decides. */
export function anyOf(auths: readonly Auth[]): Auth {
  return async (request) => {
    for (const auth of auths) {
      const principal = await auth(request)
      if (principal !== undefined) return principal
    }
    return undefined
  }
}

export function bearerOf(request: Request): string | undefined {
  return /^Bearer ([\w.~+/=-]{1,8192})$/i.exec(request.headers.get("authorization") ?? "")?.[1]
}
