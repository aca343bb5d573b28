import { live } from '../state/live.js';
import { t } from '../words/language.js';

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
  const list = live.value?.tubes;
  const names = new Set((list?.tubes ?? []).map(({ tube }) => tube));
  const isWhole = list && !list.more && list.away.length === 0;
  const isUnseen = isWhole && value !== undefined && !names.has(value);
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
            {isUnseen && name === value ? t('tube.unseen', { tube: name }) : name}
          </option>
        ))}
      </select>
    </label>
  );
}
