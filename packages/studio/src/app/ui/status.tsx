/** The status of a run or of a task: an icon, a word, a colour, never the colour alone. */
import { Icon, type IconName } from "./icon.tsx"
import styles from "./status.module.css"

/** The colour and the icon of each status; runs and tasks share them. */
const LOOKS: Readonly<Record<string, readonly [tone: Tone, icon: IconName]>> = {
  queued: ["stopped", "clock"],
  running: ["running", "play"],
  cancelling: ["stopped", "stop"],
  waiting: ["waiting", "pause"],
  parked: ["waiting", "pause"],
  backoff: ["waiting", "loop"],
  quarantined: ["limit", "lock"],
  completed: ["completed", "check"],
  finished: ["completed", "check"],
  failed: ["failed", "cross"],
  rejected: ["failed", "cross"],
  limit: ["limit", "alert"],
  cancelled: ["stopped", "stop"],
  paused: ["waiting", "pause"],
  open: ["waiting", "pause"],
  delivering: ["running", "play"],
  answered: ["completed", "check"],
  expired: ["failed", "clock"],
  withdrawn: ["stopped", "stop"],
}
/** Words that say more than the name of the status. */
const WORDS: Readonly<Record<string, string>> = {
  parked: "waiting",
  backoff: "will retry",
  limit: "limit reached",
  finished: "done",
}

export type Tone = "running" | "waiting" | "completed" | "failed" | "limit" | "stopped"

export function toneOf(status: string): Tone {
  return LOOKS[status]?.[0] ?? "stopped"
}

export function statusWord(status: string): string {
  return WORDS[status] ?? status
}

export function StatusIcon({ status, size = 14 }: { readonly status: string; readonly size?: number }) {
  const [tone, icon] = LOOKS[status] ?? ["stopped", "dash"]
  return (
    <span className={`${styles.icon} ${styles[tone]} ${status === "running" ? styles.pulse : ""}`}>
      <Icon name={icon} size={size} />
    </span>
  )
}

interface StatusProps {
  readonly status: string
  readonly isChip?: boolean
  /** Instead of the word of the status. */
  readonly word?: string
}

/** The icon and the word. As a chip it has a background. */
export function Status({ status, isChip = false, word = statusWord(status) }: StatusProps) {
  return (
    <span className={`${styles.status} ${styles[toneOf(status)]} ${isChip ? styles.chip : ""}`}>
      <StatusIcon status={status} />
      {word}
    </span>
  )
}
