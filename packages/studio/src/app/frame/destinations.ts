/** The destinations of the studio, in the order of the rail. A screen is added here and in `routes.tsx`. */
import type { IconName } from "../ui/icon.tsx"

export interface Destination {
  readonly name: string
  readonly href: string
  readonly icon: IconName
  /** At the bottom of the rail. */
  readonly isLast?: boolean
}

export const DESTINATIONS: readonly Destination[] = [
  { name: "Home", href: "/", icon: "home" },
  { name: "Runs", href: "/runs", icon: "runs" },
  { name: "Inbox", href: "/inbox", icon: "inbox" },
  { name: "Workflows", href: "/workflows", icon: "workflows" },
  { name: "Schedules", href: "/schedules", icon: "schedules" },
  { name: "Costs", href: "/costs", icon: "costs" },
  { name: "Knowledge", href: "/knowledge", icon: "knowledge" },
  { name: "Settings", href: "/settings", icon: "settings", isLast: true },
]
