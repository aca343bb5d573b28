import { tell } from '../state/notice.js';
import { t } from '../words/language.js';

/** The code of dialogs that aren't part of what the browser loads at once. */
const dialogs = () => import('../pages/on-demand-pages.js');
type Dialogs = Awaited<ReturnType<typeof dialogs>>;

/** Opens a dialog whose code is loaded on demand, or says that it can't be loaded. Never rejects. */
export async function askOnDemand(open: (loaded: Dialogs) => void): Promise<void> {
  let loaded: Dialogs;
  try {
    loaded = await dialogs();
  } catch {
    return tell(t('app.notLoaded'), true);
  }
  open(loaded);
}
