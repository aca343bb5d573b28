// The theme without its font: the site requests nothing from elsewhere, and system fonts have Chinese.
import Theme from 'vitepress/theme-without-fonts';
import './style.css';

export default Theme;
