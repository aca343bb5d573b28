import { zone } from '../figures/zone.js';
import { openShortcuts } from '../palette/open.js';
import { closeDialog } from '../state/dialog.js';
import { reportFailure } from '../state/notice.js';
import { theme, THEMES } from '../state/settings.js';
import { language, speak, t } from '../words/language.js';
import { browserZone } from './browser-zone.js';
import { Dialog } from './dialog.js';

/** Choices of the viewer for this browser. Each applies at once. */
export function SettingsDialog() {
  return (
    <Dialog title={t('app.settings')}>
      <div class="form">
        <ZoneSetting />
        <Setting
          label={t('app.theme')}
          value={theme.value}
          options={THEMES.map((each) => ({ value: each, name: t(`app.theme.${each}`) }))}
          onChange={(each) => (theme.value = each)}
        />
        <Setting
          label={t('app.language')}
          value={language.value}
          options={[
            { value: 'en', name: 'English' },
            { value: 'zh', name: '中文' },
          ]}
          onChange={(each) => void speak(each).catch(reportFailure)}
        />
      </div>
      <div class="buttons">
        <button class="button" onClick={openShortcuts}>
          {t('keys.title')}
        </button>
        <button class="button main" onClick={closeDialog}>
          {t('act.close')}
        </button>
      </div>
    </Dialog>
  );
}

/** A browser in UTC leaves no choice. */
function ZoneSetting() {
  const browser = browserZone();
  if (browser === 'UTC') return null;
  return (
    <Setting
      label={t('app.zone')}
      value={zone.value}
      options={[
        { value: 'browser', name: browser },
        { value: 'utc', name: 'UTC' },
      ]}
      onChange={(each) => (zone.value = each)}
    />
  );
}

function Setting<Value extends string>({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: Value;
  readonly options: readonly { readonly value: Value; readonly name: string }[];
  readonly onChange: (value: Value) => void;
}) {
  return (
    <label>
      <span>{label}</span>
      <select
        value={value}
        onChange={({ currentTarget }) => onChange(options[currentTarget.selectedIndex]!.value)}
      >
        {options.map((each) => (
          <option key={each.value} value={each.value}>
            {each.name}
          </option>
        ))}
      </select>
    </label>
  );
}
