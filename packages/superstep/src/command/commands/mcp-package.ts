/** What the commands use of `@superstep/mcp`, which is optional. */
import type { Readable, Writable } from "node:stream"
import type { Labels, Runtime, Workflow } from "@superstep/engine"
import { importOptional } from "@superstep/engine/packages"

export interface RemoteServer {
  readonly url: string
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly allowPrivate?: boolean | readonly string[] | undefined
  readonly oauth?:
    | {
        readonly grant?: string | undefined
        readonly clientId?: string | undefined
        readonly scopes?: readonly string[] | undefined
        readonly callbackPort?: number | undefined
      }
    | undefined
}

export interface ServedTool {
  readonly workflow: Workflow
  readonly labels?: Labels | undefined
}

interface McpPackage {
  mcpLogin(
    server: RemoteServer,
    options: { readonly open: (url: URL) => void; readonly signal: AbortSignal },
  ): Promise<void>
  serveMcp(
    options: { readonly workflows: readonly ServedTool[]; readonly runtime: Runtime; readonly name: string },
    on: { readonly transport: "stdio"; readonly input: Readable; readonly output: Writable },
  ): { readonly closed: Promise<void>; close(): Promise<void> }
  serveMcp(
    options: { readonly workflows: readonly ServedTool[]; readonly runtime: Runtime; readonly name: string },
    on: { readonly transport: "http" },
  ): { handle(request: unknown, response: unknown): Promise<void>; close(): Promise<void> }
}

export function mcpPackage(neededBy: string): Promise<McpPackage> {
  return importOptional<McpPackage>(
    { name: "@superstep/mcp", neededBy },
    (name) => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ name),
  )
}
