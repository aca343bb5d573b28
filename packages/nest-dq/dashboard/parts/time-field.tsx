import { fieldText, fromField } from '../figures/times.js';

/** A time by the viewer's clock; its value is an ISO text. */
export function TimeField({
  label,
  value,
  onChange,
}: {
  readonly label: string;
  readonly value: string | undefined;
  readonly onChange: (iso: string | undefined) => void;
}) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="datetime-local"
        step={1}
        value={fieldText(value)}
        onChange={({ currentTarget }) => onChange(fromField(currentTarget.value))}
      />
    </label>
  );
}
