import { render } from 'preact';
import './styles/tokens.css';
import './styles/layout.css';
import './styles/parts.css';
import './styles/tables.css';
import './styles/dialogs.css';
import './styles/charts.css';
import './styles/status.css';
import { App } from './app.js';
import { reportFailure } from './state/notice.js';
import { speakAsPreferred } from './words/language.js';

speakAsPreferred()
  .catch(reportFailure)
  .finally(() => render(<App />, document.getElementById('app')!));
