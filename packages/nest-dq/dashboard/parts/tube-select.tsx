import { live } from '../state/live.js';
import { t } from '../words/language.js';
import { isUnseen } from './unknown-tube.js';

/** One of the tubes that are known now. */
export function TubeSelect({
  value,
  all,
  onChange,
}: {
  readonly value: string | undefined;
  /** Whether "all tubes" is a choice. */
  readonly all?: boolean;
  readonly onChange: (tube: string | undefined) => void;
}) {
  const names = new Set((live.value?.tubes?.tubes ?? []).map(({ tube }) => tube));
  if (value !== undefined) names.add(value);
  return (
    <label class="field">
      <span class="unseen">{t('tube')}</span>
      <select
        value={value ?? ''}
        onChange={({ currentTarget }) =>
          onChange(currentTarget.value === '' ? undefined : currentTarget.value)
        }
      >
        {(all || value === undefined) && <option value="">{t(all ? 'tube.all' : 'tube.choose')}</option>}
        {[...names].map((name) => (
          <option key={name} value={name}>
            {name === value && isUnseen(name) ? t('tube.unseen', { tube: name }) : name}
          </option>
        ))}
      </select>
    </label>
  );
}
