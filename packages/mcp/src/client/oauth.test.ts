/** Logins at remote servers, against a real authorization server on loopback. */
import { mkdtempSync, readFileSync, statSync, writeFileSync } from "node:fs"
import { rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, onTestFinished, test } from "vitest"
import { mcpLogin } from "./oauth.ts"
import { authorizationServer, protectedServer } from "./oauth-server.test-support.ts"
import { logged, opened, toolNamed, use, value } from "./tool-use.test-support.ts"

function tokenFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "superstep-oauth-"))
  onTestFinished(() => rm(folder, { recursive: true }))
  return join(folder, "own", "tokens.json")
}

/** A person with a browser. */
const browser = (url: URL) => void fetch(url).then((page) => page.text())

const stored = (file: string) =>
  Object.values(JSON.parse(readFileSync(file, "utf8")).servers)[0] as {
    tokens: { access_token: string; refresh_token: string }
  }

test("O1 a person logs in once: with PKCE, and tokens that only the owner of their file can read", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const oauth = { tokenFile: tokenFile() }
  const before = opened({ url, oauth })
  const failure = await Promise.resolve(before.tools(logged().ctx)).catch((error) => error)
  expect(failure).toMatchObject({ code: "MCP_UNAUTHORIZED", retryable: false })
  expect(failure.message).toContain("superstep mcp login")
  await mcpLogin({ url, oauth }, { open: browser })
  expect(by.seen.map(({ what }) => what)).toContain("POST /register")
  expect(statSync(oauth.tokenFile).mode & 0o777).toBe(0o600)
  expect(statSync(join(oauth.tokenFile, "..")).mode & 0o777).toBe(0o700)
  const said = await value(await toolNamed(opened({ url, oauth }), "whoami"))
  expect(said).toBe("you are [secret]")
})

test("O3 a token that expired is refreshed once for all pending calls, and the new one is kept", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const oauth = { tokenFile: tokenFile() }
  await mcpLogin({ url, oauth }, { open: browser })
  const toolset = opened({ url, oauth })
  const whoami = await toolNamed(toolset, "whoami")
  const old = stored(oauth.tokenFile).tokens
  by.valid.clear()
  by.seen.length = 0
  const said = await Promise.all([1, 2, 3].map(() => value(whoami)))
  expect(new Set(said)).toEqual(new Set(["you are [secret]"]))
  expect(by.seen.filter(({ form }) => form.get("grant_type") === "refresh_token")).toHaveLength(1)
  expect(stored(oauth.tokenFile).tokens.refresh_token).not.toBe(old.refresh_token)
})

test("O4 a login that cannot be refreshed fails the call, without a token in the error", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const oauth = { tokenFile: tokenFile() }
  await mcpLogin({ url, oauth }, { open: browser })
  const whoami = await toolNamed(opened({ url, oauth }), "whoami")
  const { tokens } = stored(oauth.tokenFile)
  by.valid.clear()
  const text = readFileSync(oauth.tokenFile, "utf8").replace(tokens.refresh_token, "refresh-used-up")
  writeFileSync(oauth.tokenFile, text)
  const outcome = await use(whoami)
  expect(outcome).toMatchObject({ ok: false, error: { code: "MCP_UNAUTHORIZED" } })
  expect(JSON.stringify(outcome)).not.toMatch(/access-|refresh-/)
})

test("client credentials need nobody; their secret comes from the environment, and is masked", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  process.env.MACHINE_SECRET = "s3cret-s3cret"
  onTestFinished(() => void delete process.env.MACHINE_SECRET)
  const oauth = {
    grant: "client_credentials" as const,
    clientId: "machine",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: filled in when it is used.
    clientSecret: "${env.MACHINE_SECRET}",
    issuer: by.url,
  }
  const toolset = opened({ url, oauth, headers: { "x-api-key": "for the server alone" } })
  expect(await value(await toolNamed(toolset, "whoami"))).toBe("you are [secret]")
  // F4
  expect(by.seen.some(({ headers }) => headers["x-api-key"] !== undefined)).toBe(false)
  by.valid.clear()
  expect(await value(await toolNamed(toolset, "whoami"))).toBe("you are [secret]")
  // O2
  const thief = await authorizationServer()
  const other = opened({ url: await protectedServer(thief), oauth })
  await expect(other.tools(logged().ctx)).rejects.toMatchObject({ code: "MCP_UNAUTHORIZED" })
  expect(thief.seen.some(({ what }) => what === "POST /token")).toBe(false)
})

test("a secret without the server that gets it is rejected at once", () => {
  const oauth = { clientId: "machine", clientSecret: "s3cret-s3cret" }
  expect(() => opened({ url: "https://x.example/mcp", oauth })).toThrow("needs oauth.issuer")
})

test("O2 a server cannot make the client call other addresses as its authorization server", async () => {
  const by = await authorizationServer()
  for (const authorization of ["http://169.254.169.254/latest", "http://10.0.0.1", "http://[::1]:1"]) {
    const url = await protectedServer(by, { authorization })
    const attempt = mcpLogin({ url, oauth: { tokenFile: tokenFile() } }, { open: browser })
    await expect(attempt).rejects.toMatchObject({ code: "MCP_ADDRESS_REFUSED" })
  }
})

test("O2 a server cannot make the client send its code to other addresses, nor a browser open anything", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const failing = async (metadata: Record<string, unknown>) => {
    by.metadata = metadata
    const opened: URL[] = []
    const open = (page: URL) => {
      opened.push(page)
      const real = new URL(page.search, `${by.url}/authorize`)
      browser(real)
    }
    const error = await mcpLogin({ url, oauth: { tokenFile: tokenFile() } }, { open }).catch((error) => error)
    return { code: error?.code as string, opened: opened.length }
  }
  expect(await failing({ token_endpoint: "http://10.0.0.1/token" })).toMatchObject({
    code: expect.stringMatching(/MCP_UNAUTHORIZED|MCP_ADDRESS_REFUSED/),
  })
  expect(await failing({ token_endpoint: "http://evil.example/token" })).toMatchObject({
    code: "MCP_UNAUTHORIZED",
  })
  for (const page of ["javascript:alert(1)", "file:///etc/passwd", "http://evil.example/authorize"]) {
    const { code, opened } = await failing({ authorization_endpoint: page })
    expect(code, page).toMatch(/^MCP_/)
    expect(opened, page).toBe(0)
  }
  expect(await failing({ issuer: "https://other.example" })).toMatchObject({ opened: 0 })
})

test("a page of somebody else cannot end a login: the state must be its own", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const open = (page: URL) => {
    const back = new URL(page.searchParams.get("redirect_uri") ?? "")
    back.search = new URLSearchParams({ code: "stolen", state: "guessed" }).toString()
    browser(back)
  }
  const attempt = mcpLogin({ url, oauth: { tokenFile: tokenFile() } }, { open })
  await expect(attempt).rejects.toThrow("does not belong to this login")
})

test("a file of tokens that is damaged is reported, without its text", async () => {
  const by = await authorizationServer()
  const url = await protectedServer(by)
  const oauth = { tokenFile: join(tokenFile(), "..", "..", "tokens.json") }
  writeFileSync(oauth.tokenFile, '{ "access_token": "hunter2')
  const failure = await Promise.resolve(opened({ url, oauth }).tools(logged().ctx)).catch((error) => error)
  expect(failure).toMatchObject({ code: "MCP_TOKENS_INVALID" })
  expect(failure.message).not.toContain("hunter2")
})
