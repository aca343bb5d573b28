import { PAGES } from '../pages/pages.js';
import { Dialog } from '../parts/dialog.js';
import { closeDialog } from '../state/dialog.js';
import { session } from '../state/session.js';
import { shortcuts } from '../state/settings.js';
import { t } from '../words/language.js';
import { modifier } from './modifier.js';

/** All shortcuts, and whether single keys are any. */
export function ShortcutsDialog() {
  const hasKafka = (session.value?.kafka.length ?? 0) > 0;
  const pages = PAGES.filter(({ key, kafka }) => key !== undefined && (!kafka || hasKafka));
  return (
    <Dialog title={t('keys.title')}>
      <dl class="keys">
        <Keys keys={[modifier === '⌘' ? '⌘K' : 'Ctrl+K']} does={t('keys.search')} />
        <Keys keys={['/']} does={t('keys.search')} />
        <Keys keys={['j']} does={t('keys.next')} />
        <Keys keys={['k']} does={t('keys.previous')} />
        <Keys keys={['Enter']} does={t('keys.open')} />
        <Keys keys={['x']} does={t('keys.select')} />
        <Keys keys={['r']} does={t('keys.refresh')} />
        {pages.map(({ path, key, title }) => (
          <Keys key={path} keys={['g', key!]} does={t(title)} />
        ))}
        <Keys keys={['?']} does={t('keys.help')} />
      </dl>
      <label class="field">
        <input
          type="checkbox"
          checked={shortcuts.value === 'on'}
          onChange={({ currentTarget }) => (shortcuts.value = currentTarget.checked ? 'on' : 'off')}
        />
        <span>{t('keys.single')}</span>
      </label>
      <div class="buttons">
        <button class="button" onClick={closeDialog}>
          {t('act.close')}
        </button>
      </div>
    </Dialog>
  );
}

function Keys({ keys, does }: { readonly keys: readonly string[]; readonly does: string }) {
  return (
    <div>
      <dt>{does}</dt>
      <dd>
        {keys.map((key) => (
          <kbd key={key}>{key}</kbd>
        ))}
      </dd>
    </div>
  );
}
