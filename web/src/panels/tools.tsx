// The tool column on the left.
import * as commands from "../commands";
import { Button, type IconName } from "../icons";
import * as store from "../store";
import { view } from "../view/viewport";

const SHOWN: [store.Shown, IconName, string, string][] = [
  ["skin", "person", "Skin", ""],
  ["bones", "bones", "Bones", "B"],
  ["ghost", "ghost", "Ghost of the original", "O"],
  ["onion", "onion", "Onion skin: poses before and after", "N"],
  ["trails", "trail", "Trails of hands and feet", "T"],
  ["prints", "print", "Footprints", ""],
  ["path", "path", "Editable path on the ground", "W"],
  ["follow", "follow", "Camera follows", "C"],
  ["curves", "curve", "Curves", "V"],
];

export function Tools() {
  return (
    <nav class="tools" aria-label="Tools">
      <Button icon="move" label="Move" hint="G" on={store.mode.value === "translate"} onClick={() => (store.mode.value = "translate")} />
      <Button icon="rotate" label="Rotate" hint="R" on={store.mode.value === "rotate"} onClick={() => (store.mode.value = "rotate")} />
      <Button icon="pin" label="Pin the selected point here" hint="P" id="pin" onClick={commands.pinHere} />
      <hr />
      {SHOWN.map(([name, icon, label, hint]) => (
        <Button key={name} icon={icon} label={label} {...(hint ? { hint } : {})} on={store.show[name].value} id={`show-${name}`} onClick={() => (store.show[name].value = !store.show[name].peek())} />
      ))}
      <Button icon="snap" label="Snap to 5 cm and 5°; steps to the ground and to each other" id="snap" on={store.snapping.value} onClick={() => (store.snapping.value = !store.snapping.peek())} />
      <Button icon="axes" label="Axes of the joint instead of the world's" id="local-axes" on={store.localAxes.value} onClick={() => (store.localAxes.value = !store.localAxes.peek())} />
      <hr />
      <Button icon="frame" label="Frame the character" hint="F" onClick={() => view.theatre?.frameFigure()} />
    </nav>
  );
}
