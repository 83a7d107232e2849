/** Copies text, and saves values as files. */
import { Button, IconButton } from "./button.tsx"
import { toast } from "./toast.tsx"

export async function copyText(text: string, what: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
    toast(`Copied ${what}.`)
  } catch {
    toast("The browser does not allow copying here.")
  }
}

interface CopyProps {
  readonly what: string
  readonly text: () => string
  readonly children?: string
}

/** Only an icon, unless it has text. */
export function Copy({ what, text, children }: CopyProps) {
  const run = () => void copyText(text(), what)
  if (children === undefined) return <IconButton icon="copy" label={`Copy ${what}`} onClick={run} />
  return (
    <Button icon="copy" onClick={run}>
      {children}
    </Button>
  )
}

export function download(name: string, text: string, type = "application/json"): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement("a")
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
