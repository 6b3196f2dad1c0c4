// Icons as SVG: symbol fonts may be missing.
const PATHS = {
  play: "M7 5l12 7-12 7z",
  pause: "M7 5h3.500v14H7zM13.500 5H17v14h-3.500z",
  next: "M6 5l9 7-9 7zM16 5h2.500v14H16z",
  previous: "M18 5l-9 7 9 7zM5.500 5H8v14H5.500z",
  first: "M18 5l-8 7 8 7zM6 5h2.500v14H6z",
  last: "M6 5l8 7-8 7zM15.500 5H18v14h-2.500z",
} as const;

const LINES = {
  loop: "M17 3l3 3-3 3M20 6H8a4 4 0 0 0-4 4v1M7 21l-3-3 3-3M4 18h12a4 4 0 0 0 4-4v-1",
  undo: "M8 4L4 8l4 4M4 8h10a6 6 0 0 1 0 12H9",
  redo: "M16 4l4 4-4 4M20 8H10a6 6 0 0 0 0 12h5",
  open: "M3 7a2 2 0 0 1 2-2h4l2 2h8a2 2 0 0 1 2 2v8a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2z",
  save: "M5 3h11l3 3v13a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V5a2 2 0 0 1 2-2zM7 3v5h8V3M7 21v-7h8v7",
  download: "M12 3v12M7 11l5 5 5-5M4 20h16",
  help: "M9.200 9a3 3 0 1 1 4.400 2.700c-1 .6-1.600 1.200-1.600 2.300M12 17.500v.2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  move: "M12 3v18M3 12h18M12 3l-2.500 2.500M12 3l2.500 2.500M12 21l-2.500-2.500M12 21l2.500-2.500M3 12l2.500-2.500M3 12l2.500 2.500M21 12l-2.500-2.500M21 12l-2.500 2.500",
  rotate: "M20 12a8 8 0 1 1-2.500-5.800M20 3v4h-4",
  pin: "M12 21v-7M8 3h8l-1 6 3 4H6l3-4z",
  person: "M12 7.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600zM12 8v7M6.500 10.500l5.500-1.500 5.500 1.500M8.500 21l3.500-6.500L15.500 21",
  bones: "M6 6l12 12M4.500 8a2 2 0 1 1 3.500-3.500 2 2 0 1 1-3.500 3.500zM16 19.500a2 2 0 1 1 3.500-3.500 2 2 0 1 1-3.500 3.500z",
  ghost: "M6 20V11a6 6 0 0 1 12 0v9l-3-2-3 2-3-2zM10 11v.5M14 11v.5",
  trail: "M3 18c4 0 4-10 9-10s4 6 9 6M18.500 11.500L21 14l-2.500 2.500",
  print: "M9 4c2.500 0 3.500 2.300 3.200 5-.2 2-1.200 3.200-1.100 5 .1 1.300-.8 2-2 2s-2-.7-2.100-2C6.900 12 5.600 10.800 5.700 8.300 5.800 6 7 4 9 4zM16.500 13.500a2 2.300 0 1 0 0 4.600 2 2.300 0 1 0 0-4.600z",
  follow: "M4 8V5a1 1 0 0 1 1-1h3M16 4h3a1 1 0 0 1 1 1v3M20 16v3a1 1 0 0 1-1 1h-3M8 20H5a1 1 0 0 1-1-1v-3M12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  frame: "M4 9V4h5M15 4h5v5M20 15v5h-5M9 20H4v-5",
  curve: "M3 19h18M3 19V4M5 15c3 0 3-8 7-8s4 5 8 5",
  compare: "M12 3v18M9 6H4v12h5M15 6h5v12h-5",
  terrain: "M3 19l6-10 4 6 3-4 5 8zM16.500 6.500h.1",
  table: "M4 6h16M4 12h16M4 18h16M9 4v16",
  drive: "M4 8h16v9H4zM8 11v3M6.500 12.500h3M15 12h.1M17.500 13.500h.1",
  stack: "M12 3l9 4.500-9 4.500-9-4.500zM3.500 12L12 16.300 20.500 12M3.500 16.500L12 20.800l8.500-4.300",
  up: "M6 15l6-6 6 6",
  down: "M6 9l6 6 6-6",
  sun: "M12 16.500a4.500 4.500 0 1 0 0-9 4.500 4.500 0 0 0 0 9zM12 2v2.500M12 19.500V22M2 12h2.500M19.500 12H22M5 5l1.800 1.800M17.200 17.200L19 19M19 5l-1.800 1.800M6.800 17.200L5 19",
  camera: "M4 8h3l1.500-2.500h7L17 8h3v11H4zM12 16.500a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z",
  video: "M3 7h12v10H3zM15 11l6-3.500v9L15 13z",
  onion: "M7 20c-2.500-3-2.500-11 0-14M12 20c-2.500-3-2.500-11 0-14M17 20c-2.500-3-2.500-11 0-14",
  snap: "M6 4v8a6 6 0 0 0 12 0V4h-4v8a2 2 0 0 1-4 0V4zM6 8h4M14 8h4",
  axes: "M6 18V6M6 18h12M6 18l5-5M4 8l2-2 2 2M16 16l2 2-2 2",
  info: "M12 11v6M12 7.500v.2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  history: "M12 8v5l3 2M4.500 9A8 8 0 1 1 4 13M4 5v4h4",
  edit: "M4 20l4-1L19.500 7.500a2.100 2.100 0 0 0-3-3L5 16z",
  trash: "M4 7h16M9 7V4h6v3M6.500 7l1 13h9l1-13M10 11v6M14 11v6",
  close: "M6 6l12 12M18 6L6 18",
  plus: "M12 5v14M5 12h14",
  minus: "M5 12h14",
  box: "M12 3l8 4.500v9L12 21l-8-4.500v-9zM12 12l8-4.500M12 12v9M12 12L4 7.500",
  stairs: "M3 20h18V5h-5v5h-5v5H6v5",
  slope: "M3 20h18V6z",
  eye: "M2.500 12S6 5.500 12 5.500 21.500 12 21.500 12 18 18.500 12 18.500 2.500 12 2.500 12zM12 15a3 3 0 1 0 0-6 3 3 0 0 0 0 6z",
  copy: "M8 8h12v12H8zM4 16V4h12",
  paste: "M8 5H5v16h14V5h-3M9 3h6v4H9z",
  people: "M9 7.500a2.300 2.300 0 1 0 0-4.600 2.300 2.300 0 0 0 0 4.600zM9 9v6M4.500 11.500L9 10l4.500 1.500M6 21l3-6 3 6M17 10.500a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM17 12v4M14 14l3-1 3 1M15 21l2-5 2 5",
  door: "M5 21V4h14v17M9 21V8h6v13",
  desk: "M3 9h18M5 9v10M19 9v10",
  check: "M5 12.500l4.500 4.500L19 7.500",
  wrench: "M14.500 6.500a4 4 0 0 1 5-1l-3 3 .5 2.500 2.500.5 3-3M14.500 6.500a4 4 0 0 0-.5 4.500L5 20l-1.500-1.500L12.500 9.500",
  path: "M5 19c0-5 6-4 7-7s-2-5 7-7M5 21a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM19 7a2 2 0 1 0 0-4 2 2 0 0 0 0 4z",
} as const;

export type IconName = keyof typeof PATHS | keyof typeof LINES;

export function Icon({ name, size = 18 }: { name: IconName; size?: number }) {
  const filled = name in PATHS;
  const d = filled ? PATHS[name as keyof typeof PATHS] : LINES[name as keyof typeof LINES];
  return (
    <svg width={size} height={size} viewBox="0 0 24 24" aria-hidden="true" fill={filled ? "currentColor" : "none"} stroke={filled ? "none" : "currentColor"} stroke-width="1.7" stroke-linecap="round" stroke-linejoin="round">
      <path d={d} />
    </svg>
  );
}

interface ButtonProps {
  icon?: IconName;
  label: string;
  text?: boolean;
  on?: boolean;
  primary?: boolean;
  disabled?: boolean;
  hint?: string;
  onClick: () => void;
  id?: string;
}

/** A button with a tooltip and a label for screen readers. */
export function Button({ icon, label, text = false, on, primary = false, disabled = false, hint, onClick, id }: ButtonProps) {
  const classes = ["button", text ? "with-text" : "icon-only", on ? "on" : "", primary ? "primary" : ""].filter(Boolean).join(" ");
  return (
    <button type="button" id={id} class={classes} disabled={disabled} aria-label={label} aria-pressed={on} title={hint ? `${label} (${hint})` : label} onClick={onClick}>
      {icon && <Icon name={icon} />}
      {text && <span>{label}</span>}
    </button>
  );
}
