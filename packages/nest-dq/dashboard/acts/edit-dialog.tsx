import { useState } from 'preact/hooks';
import type { JobRefWire } from '../../src/dashboard/wire.js';
import { Dialog } from '../parts/dialog.js';
import { closeDialog, showDialog } from '../state/dialog.js';
import { t } from '../words/language.js';
import { doAct } from './one.js';

/** Asks for another payload of a waiting or dead job, and runs it with that. */
export function editPayload(job: JobRefWire, payload: unknown, after: () => void): void {
  showDialog(<EditDialog job={job} payload={payload} after={after} />);
}

function EditDialog({
  job,
  payload,
  after,
}: {
  readonly job: JobRefWire;
  readonly payload: unknown;
  readonly after: () => void;
}) {
  const [text, setText] = useState(JSON.stringify(payload, null, 2));
  const edited = parsed(text);
  return (
    <Dialog title={t('edit.title')}>
      <p>{t('edit.text')}</p>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!edited) return;
          closeDialog();
          void doAct('runEdited', { ...job, payload: edited.value }, after);
        }}
      >
        <label>
          <span>{t('edit.payload')}</span>
          <textarea
            class="code"
            rows={12}
            spellcheck={false}
            value={text}
            aria-invalid={!edited}
            onInput={({ currentTarget }) => setText(currentTarget.value)}
          />
        </label>
        <p class="bad small" role="status">
          {!edited && t('edit.invalid')}
        </p>
        <div class="buttons">
          <button type="button" class="button" onClick={closeDialog}>
            {t('act.cancel')}
          </button>
          <button class="button main" disabled={!edited}>
            {t('act.runEdited')}
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** Undefined if it isn't JSON. */
function parsed(text: string): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(text) as unknown };
  } catch {
    return undefined;
  }
}
