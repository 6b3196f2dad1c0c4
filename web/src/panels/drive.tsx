// Drive mode and live mode.
import { DRIVE_KEYS, driving, held, press, startDriving, stopDriving } from "../drive";
import { Button } from "../icons";
import { Section } from "./parts";

export function DrivePanel() {
  const mode = driving.value;
  return (
    <Section title="Drive">
      <p class="hint">The character walks where the keys lead, blended from the samples while it goes.</p>
      {mode === "drive" ? (
        <Button icon="close" label="Stop driving" text id="stop-driving" onClick={stopDriving} />
      ) : (
        <Button icon="drive" label="Drive" text primary id="drive" onClick={() => startDriving("drive")} />
      )}
      <div class="keys-pad">
        {DRIVE_KEYS.map(({ key, label, what }) => (
          <button
            key={key}
            type="button"
            class={`drive-key ${held.value.has(key) ? "on" : ""}`}
            disabled={mode !== "drive"}
            onPointerDown={() => press(key, true)}
            onPointerUp={() => press(key, false)}
            onPointerLeave={() => press(key, false)}
          >
            <kbd>{label}</kbd> {what}
          </button>
        ))}
      </div>
    </Section>
  );
}
