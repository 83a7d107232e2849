/** Opens a page in the browser. Where that fails, the address is on the screen. */
import { spawn } from "node:child_process"

export function openInBrowser(url: string): void {
  const [program, ...args] =
    process.platform === "darwin"
      ? ["open"]
      : process.platform === "win32"
        ? // Not `cmd /c start`: it would run what follows a "&" in the address.
          ["rundll32", "url.dll,FileProtocolHandler"]
        : ["xdg-open"]
  const child = spawn(program as string, [...args, url], { stdio: "ignore", detached: true })
  child.on("error", () => undefined)
  child.unref()
}
