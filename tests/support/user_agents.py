"""User agents as they are met in the wild, one a line: kind|browser|os|device|user agent."""
# ruff: noqa: E501  # a user agent is as long as it is

AGENTS = """
human|Chrome|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36
human|Chrome|Windows|Desktop|Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/49.0.2623.112 Safari/537.36
human|Chrome|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/121.0.0.0 Safari/537.36
human|Chrome|Linux|Desktop|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36
human|Chrome|iOS|Tablet|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/119 Version/11.1.1 Safari/605.1.15
human|Firefox|iOS|Tablet|Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/119.0 Safari/605.1.15
human|Edge|iOS|Tablet|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 EdgiOS/119 Safari/605.1.15
human|Google|iOS|Tablet|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/300.0 Mobile/15E148 Safari/604.1
human|Facebook|iOS|Tablet|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/400;FBDV/iPad13,1]
human|Facebook|Android|Mobile|[FBAN/EMA;FBBV/1;FBAV/300.0;FBDV/SM-A105F;FBLC/de_DE;FBSV/10;FBDM/{density=2.0}]
human|Facebook|Android|Mobile|[FBAN/MessengerLite;FBAV/310.0.0.4.111;FBDV/SM-A105F;FBSV/9;FBLC/de_DE]
human|Facebook|Android|Mobile|[FBAN/PAAA;FBAV/400.0.0.20.90;FBDV/Pixel 7;FBSV/14;FBLC/en_US]
human|Chrome|HarmonyOS|Mobile|Mozilla/5.0 (Phone; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36  ArkWeb/4.1.6.1 Mobile
human|Huawei Browser|HarmonyOS|Mobile|Mozilla/5.0 (Phone; OpenHarmony 4.1) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Safari/537.36 ArkWeb/4.1.6.1 Mobile HuaweiBrowser/5.0.4.300
human|Chrome|HarmonyOS|Tablet|Mozilla/5.0 (Tablet; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Safari/537.36 ArkWeb/6.0
human|Chrome|HarmonyOS|Desktop|Mozilla/5.0 (PC; OpenHarmony 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/132.0.0.0 Safari/537.36 ArkWeb/6.0
human|Chrome|ChromeOS|Desktop|Mozilla/5.0 (X11; CrOS x86_64 14541.0.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36
human|Chrome|Android|Tablet|Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 13; Pixel 7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0.0.0 Mobile Safari/537.36
human|Chrome|Android|Tablet|Mozilla/5.0 (Linux; Android 12; SM-X906C Build/QP1A.190711.020; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/80.0.3987.119 Mobile Safari/537.36
human|Chrome|Android|Tablet|Mozilla/5.0 (Linux; Android 7.0; SM-T827R4 Build/NRD90M) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/60.0.3112.116 Safari/537.36
human|Chrome|Android|Tablet|Mozilla/5.0 (Linux; Android 7.0; Pixel C Build/NRD90M; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/52.0.2743.98 Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 9; SM-G960F Build/PPR1.180610.011; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/74.0.3729.157 Mobile Safari/537.36
human|Chrome|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/119.0.6045.109 Mobile/15E148 Safari/604.1
human|Chrome|iOS|Tablet|Mozilla/5.0 (iPad; CPU OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) CriOS/117.0.5938.117 Mobile/15E148 Safari/604.1
human|Chromium|Linux|Desktop|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Ubuntu Chromium/80.0.3987.87 Chrome/80.0.3987.87 Safari/537.36
human|Safari|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.1 Safari/605.1.15
human|Safari|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0.4 Safari/605.1.15
human|Safari|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.2 Mobile/15E148 Safari/604.1
human|Safari|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 12_5_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1.2 Mobile/15E148 Safari/604.1
human|Safari|iOS|Mobile|Mozilla/5.0 (iPod touch; CPU iPhone OS 12_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.0 Mobile/15E148 Safari/604.1
human|Safari|iOS|Tablet|Mozilla/5.0 (iPad; CPU OS 12_2 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/12.1 Mobile/15E148 Safari/604.1
human|Safari|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148
human|Safari|Windows|Desktop|Mozilla/5.0 (Windows; U; Windows NT 6.1; en-US) AppleWebKit/533.19.4 (KHTML, like Gecko) Version/5.0.3 Safari/533.19.4
human|Firefox|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:121.0) Gecko/20100101 Firefox/121.0
human|Firefox|Linux|Desktop|Mozilla/5.0 (X11; Ubuntu; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/118.0
human|Firefox|Linux|Desktop|Mozilla/5.0 (X11; Fedora; Linux x86_64; rv:109.0) Gecko/20100101 Firefox/119.0
human|Firefox|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10.15; rv:121.0) Gecko/20100101 Firefox/121.0
human|Firefox|FreeBSD|Desktop|Mozilla/5.0 (X11; FreeBSD amd64; rv:109.0) Gecko/20100101 Firefox/115.0
human|Firefox|OpenBSD|Desktop|Mozilla/5.0 (X11; OpenBSD amd64; rv:109.0) Gecko/20100101 Firefox/118.0
human|Firefox|Android|Mobile|Mozilla/5.0 (Android 13; Mobile; rv:109.0) Gecko/119.0 Firefox/119.0
human|Firefox|Android|Tablet|Mozilla/5.0 (Android 11; Tablet; rv:109.0) Gecko/115.0 Firefox/115.0
human|Firefox|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 14_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/119.0 Mobile/15E148 Safari/605.1.15
human|Firefox|iOS|Tablet|Mozilla/5.0 (iPad; CPU OS 13_3 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) FxiOS/21.0 Mobile/15E148 Safari/605.1.15
human|Firefox|KaiOS|Mobile|Mozilla/5.0 (Mobile; Nokia 8110 4G; rv:48.0) Gecko/48.0 Firefox/48.0 KAIOS/2.5
human|Edge|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Safari/537.36 Edg/120.0.0.0
human|Edge|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/64.0.3282.140 Safari/537.36 Edge/18.17763
human|Edge|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Safari/537.36 Edg/119.0.2151.72
human|Edge|Linux|Desktop|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Safari/537.36 Edg/118.0.2088.76
human|Edge|Android|Mobile|Mozilla/5.0 (Linux; Android 10; HD1913) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.6045.66 Mobile Safari/537.36 EdgA/119.0.2151.46
human|Edge|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 EdgiOS/119.0.2151.65 Mobile/15E148 Safari/605.1.15
human|Edge|Windows|Console|Mozilla/5.0 (Windows NT 10.0; Win64; x64; Xbox; Xbox One) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/48.0.2564.82 Safari/537.36 Edge/20.02
human|Opera|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Safari/537.36 OPR/104.0.0.0
human|Opera|Windows|Desktop|Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18
human|Opera|Android|Mobile|Mozilla/5.0 (Linux; Android 10; VOG-L29) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.5993.111 Mobile Safari/537.36 OPR/76.2.4027.73374
human|Opera|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.0 Mobile/15E148 Safari/604.1 OPT/4.2.1
human|Opera Mini|Android|Mobile|Opera/9.80 (Android; Opera Mini/36.2.2254/119.132; U; id) Presto/2.12.423 Version/12.16
human|Opera Mini|Symbian|Mobile|Opera/9.80 (J2ME/MIDP; Opera Mini/9.80 (S60; SymbOS; Opera Mobi/23.348; U; en) Presto/2.5.25 Version/10.54
human|Samsung Internet|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SAMSUNG SM-S918B) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/22.0 Chrome/111.0.5563.116 Mobile Safari/537.36
human|Samsung Internet|Android|Tablet|Mozilla/5.0 (Linux; Android 12; SAMSUNG SM-T870) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/21.0 Chrome/110.0.5481.154 Safari/537.36
human|Vivaldi|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/65.0.3325.183 Safari/537.36 Vivaldi/1.96.1147.52
human|Brave|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_13_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/69.0.3497.100 Safari/537.36 Brave/0.23.206
human|Brave|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 13_3_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0.5 Brave/1.14.2 Mobile/15E148 Safari/605.1.15
human|DuckDuckGo|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.1 Mobile/15E148 DuckDuckGo/7 Safari/605.1.15
human|DuckDuckGo|Android|Mobile|Mozilla/5.0 (Linux; Android 12; Pixel 6) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/104.0.5112.97 Mobile DuckDuckGo/5 Safari/537.36
human|DuckDuckGo|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.4 Safari/605.1.15 Ddg/17.4
human|Yandex|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/116.0.5845.686 YaBrowser/23.9.5.686 Yowser/2.5 Safari/537.36
human|Yandex|Android|Mobile|Mozilla/5.0 (Linux; arm_64; Android 12; CPH2205) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/108.0.5359.128 YaBrowser/23.1.2.119.00 SA/3 Mobile Safari/537.36
human|UC Browser|Android|Mobile|Mozilla/5.0 (Linux; U; Android 9; en-US; RMX1801 Build/PKQ1.181121.001) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/57.0.2987.108 UCBrowser/12.14.0.1221 Mobile Safari/537.36
human|UC Browser|Android|Mobile|UCWEB/2.0 (MIDP-2.0; U; Adr 4.4.2; en-US; CUBOT S208) U2/1.0.0 UCBrowser/9.9.0.459 U2/1.0.0 Mobile
human|Huawei Browser|Android|Mobile|Mozilla/5.0 (Linux; Android 10; HarmonyOS; LIO-AL00; HMSCore 6.4.0.312) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/92.0.4515.105 HuaweiBrowser/12.0.4.302 Mobile Safari/537.36
human|MIUI Browser|Android|Mobile|Mozilla/5.0 (Linux; U; Android 12; en-us; M2101K6G Build/SKQ1.210908.001) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/100.0.4896.127 Mobile Safari/537.36 XiaoMi/MiuiBrowser/13.25.0.1
human|Silk|Android|Tablet|Mozilla/5.0 (Linux; Android 9; KFMAWI) AppleWebKit/537.36 (KHTML, like Gecko) Silk/108.4.6 like Chrome/108.0.5359.160 Safari/537.36
human|Silk|Android|TV|Mozilla/5.0 (Linux; Android 9; AFTKA) AppleWebKit/537.36 (KHTML, like Gecko) Silk/112.3.1 like Chrome/112.0.5615.49 Safari/537.36
human|QQ Browser|Android|Mobile|Mozilla/5.0 (Linux; U; Android 10; zh-cn; PCT-AL10 Build/HUAWEIPCT-AL10) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/89.0.4389.72 MQQBrowser/13.2 Mobile Safari/537.36
human|Ecosia|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 15_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.6 Mobile/15E148 Safari/604.1 (Ecosia ios@9.0.2.1306)
human|Whale|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.0.0 Whale/3.21.192.22 Safari/537.36
human|Coc Coc|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) coc_coc_browser/95.0.150 Chrome/89.0.4389.150 Safari/537.36
human|Internet Explorer|Windows|Desktop|Mozilla/5.0 (Windows NT 6.1; WOW64; Trident/7.0; rv:11.0) like Gecko
human|Internet Explorer|Windows|Desktop|Mozilla/4.0 (compatible; MSIE 8.0; Windows NT 6.1; WOW64; Trident/4.0; SLCC2; .NET CLR 2.0.50727; Tablet PC 2.0)
human|Internet Explorer|Windows|Desktop|Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)
human|Internet Explorer|Windows Phone|Mobile|Mozilla/5.0 (compatible; MSIE 9.0; Windows Phone OS 7.5; Trident/5.0; IEMobile/9.0; NOKIA; Lumia 800)
human|Edge|Windows Phone|Mobile|Mozilla/5.0 (Windows Phone 10.0; Android 6.0.1; Microsoft; Lumia 950) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/52.0.2743.116 Mobile Safari/537.36 Edge/15.14977
human|GNOME Web|Linux|Desktop|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.0 Safari/605.1.15 Epiphany/605.1.15
human|Konqueror|Linux|Desktop|Mozilla/5.0 (compatible; Konqueror/4.5; Linux; X11; en_US) KHTML/4.5.4 (like Gecko)
human|SeaMonkey|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; WOW64; rv:60.0) Gecko/20100101 Firefox/60.0 SeaMonkey/2.53.5
human|Pale Moon|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:68.0) Gecko/20100101 Goanna/4.8 Firefox/68.0 PaleMoon/29.4.0.2
human|Lynx|Unknown|Other|Lynx/2.8.9rel.1 libwww-FM/2.14 SSL-MM/1.4.1 OpenSSL/1.1.1d
human|Links|Linux|Desktop|Links (2.20.2; Linux 5.4.0-100-generic x86_64; GNU C 9.2.1; text)
human|Android Browser|Android|Mobile|Mozilla/5.0 (Linux; U; Android 4.0.3; de-de; Galaxy S II Build/GRJ22) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30
human|BlackBerry|BlackBerry|Mobile|Mozilla/5.0 (BB10; Touch) AppleWebKit/537.10+ (KHTML, like Gecko) Version/10.0.9.2372 Mobile Safari/537.10+
human|BlackBerry|BlackBerry|Mobile|BlackBerry9000/4.6.0.167 Profile/MIDP-2.0 Configuration/CLDC-1.1 VendorID/102
human|Kindle|Linux|Tablet|Mozilla/5.0 (Linux; U; en-US) AppleWebKit/528.5+ (KHTML, like Gecko, Safari/528.5+) Version/4.0 Kindle/3.0 (screen 600x800; rotate)
human|Oculus Browser|Android|Other|Mozilla/5.0 (Linux; Android 12; Quest 2) AppleWebKit/537.36 (KHTML, like Gecko) OculusBrowser/29.0.0.4.64 Chrome/116.0.5845.178 VR Safari/537.36
human|Facebook|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/FBIOS;FBAV/437.0.0.38.111;FBBV/528424459;FBDV/iPhone12,1;FBMD/iPhone;FBSN/iOS;FBSV/16.6;FBSS/2;FBID/phone;FBLC/de_DE;FBOP/5]
human|Facebook|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SM-A536B Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/119.0.6045.163 Mobile Safari/537.36 [FB_IAB/FB4A;FBAV/441.0.0.31.111;]
human|Messenger|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 15_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [FBAN/MessengerForiOS;FBAV/361.0.0.26.113;FBBV/371020204]
human|Messenger|Android|Mobile|Mozilla/5.0 (Linux; Android 12; SM-A125F Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/104.0.5112.97 Mobile Safari/537.36 [FB_IAB/Orca-Android;FBAV/375.1.0.21.107;]
human|Instagram|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 307.0.2.13.103 (iPhone14,5; iOS 16_6; de_DE; de; scale=3.00; 1170x2532; 523108537)
human|Instagram|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SM-G991B Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/119.0.6045.66 Mobile Safari/537.36 Instagram 308.0.0.36.109 Android (33/13; 420dpi; 1080x2176; samsung; SM-G991B; o1s; exynos2100; de_DE; 533450710)
human|Instagram|iOS|Mobile|Instagram 10.26.0 (iPhone7,2; iOS 10_1_1; en_US; en-US; scale=2.00; gamut=normal; 750x1334) AppleWebKit/420+
human|Threads|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Barcelona 310.0.0.33.110 (iPhone15,2; iOS 17_0; en_US; en; scale=3.00; 1179x2556; 533456789)
human|LinkedIn|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [LinkedInApp]/9.28.7586
human|LinkedIn|Android|Mobile|Mozilla/5.0 (Linux; Android 13; Pixel 6a Build/TQ3A.230805.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/118.0.0.0 Mobile Safari/537.36 [LinkedInApp]/4.1.876
human|Google|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) GSA/288.1.577065321 Mobile/15E148 Safari/604.1
human|Google|Android|Mobile|Mozilla/5.0 (Linux; Android 13; Pixel 7 Build/TQ3A.230901.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/117.0.0.0 Mobile Safari/537.36 GSA/14.38.18.28.arm64
human|LINE|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Safari Line/13.17.0
human|LINE|Android|Mobile|Mozilla/5.0 (Linux; Android 12; SO-51A Build/58.2.A.10.41; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/117.0.5938.153 Mobile Safari/537.36 Line/13.18.1/IAB
human|WeChat|Android|Mobile|Mozilla/5.0 (Linux; Android 12; M2012K11AC Build/SKQ1.220303.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/86.0.4240.99 XWEB/4317 MMWEBSDK/20220903 Mobile Safari/537.36 MMWEBID/1240 MicroMessenger/8.0.28.2240(0x28001C57) WeChat/arm64 Weixin NetType/WIFI Language/zh_CN ABI/arm64
human|WeChat|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 MicroMessenger/8.0.34(0x1800222f) NetType/WIFI Language/zh_CN
human|WeChat|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/81.0.4044.138 Safari/537.36 NetType/WIFI MicroMessenger/7.0.20.1781(0x6700143B) WindowsWechat
human|TikTok|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 musical_ly_31.4.0 JsSdk/2.0 NetType/WIFI Channel/App Store ByteLocale/de Region/DE isDarkMode/0 BytedanceWebview/d8a21c6
human|TikTok|Android|Mobile|Mozilla/5.0 (Linux; Android 12; SM-A525F Build/SP1A.210812.016; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/118.0.0.0 Mobile Safari/537.36 trill_310503 JsSdk/1.0 NetType/WIFI Channel/googleplay AppName/musical_ly app_version/31.5.3 ByteLocale/de-DE Region/DE BytedanceWebview/d8a21c6
human|Pinterest|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 [Pinterest/iOS]
human|Pinterest|Android|Mobile|Mozilla/5.0 (Linux; Android 11; M2101K6G Build/RKQ1.200826.002; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/114.0.5735.196 Mobile Safari/537.36 [Pinterest/Android]
human|Snapchat|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Snapchat/12.53.0.40 (like Safari/8615.3.12.10.2, panda)
human|Snapchat|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SM-S901B Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/118.0.5993.80 Mobile Safari/537.36 Snapchat/12.57.0.36 (SM-S901B; Android 13#S901BXXS6CWI6#33; gzip; )
human|X|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Twitter for iPhone/10.10
human|X|Android|Mobile|Mozilla/5.0 (Linux; Android 13; Pixel 7 Build/TQ3A.230901.001; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/118.0.0.0 Mobile Safari/537.36 TwitterAndroid
human|KakaoTalk|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SM-S908N Build/TP1A.220624.014; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/117.0.0.0 Mobile Safari/537.36;KAKAOTALK 2410350
human|Telegram|Android|Mobile|Mozilla/5.0 (Linux; Android 13; Pixel 6 Build/TQ3A.230805.001) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/118.0.0.0 Mobile Safari/537.36 Telegram-Android/10.2.3 (Google Pixel 6; Android 13; SDK 33; HIGH)
human|Slack|macOS|Desktop|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) AtomShell/4.29.149 Chrome/108.0.5359.62 Electron/22.0.0 Safari/537.36 Slack_SSB/4.29.149
human|Discord|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; WOW64) AppleWebKit/537.36 (KHTML, like Gecko) discord/1.0.9013 Chrome/108.0.5359.215 Electron/22.3.2 Safari/537.36
human|Microsoft Teams|Windows|Desktop|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Teams/1.5.00.11163 Chrome/85.0.4183.121 Electron/10.4.7 Safari/537.36
human|Weibo|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 15_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Weibo (iPhone13,2__weibo__12.7.1__iphone__os15.5)
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 10; CUBOT_X30) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/87.0.4280.101 Mobile Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 8.1.0; CUBOT) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/71.0.3578.99 Mobile Safari/537.36
human|Android Browser|Android|Mobile|Mozilla/5.0 (Linux; U; Android 4.2.2; de-de; CUBOT P9 Build/JDQ39) AppleWebKit/534.30 (KHTML, like Gecko) Version/4.0 Mobile Safari/534.30
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 11; Sanbot King Kong Build/RP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.104 Mobile Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 12; Spider X1 monitor Build/SP1A) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/102.0.5005.78 Mobile Safari/537.36
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 13; SM-A546B) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.0.0 Mobile Safari/537.36 QRCodeScanner/1.12
human|WhatsApp|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 16_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 WhatsApp/23.20.79
human|Facebook|Android|Mobile|[FBAN/FB4A;FBAV/500.0.0.0.0;FBDV/SM-S911B;FBSV/16;FBLC/de_DE]
human|Facebook|Android|Tablet|[FBAN/FB4A;FBAV/500.0.0.0.0;FBDV/SM-X900;FBSV/16;FBLC/de_DE]
human|Facebook|iOS|Mobile|[FBAN/FBIOS;FBAV/437.0.0.38.111;FBDV/iPhone14,5;FBSV/17.0;FBLC/de_DE]
human|Messenger|Android|Mobile|[FBAN/Orca-Android;FBAV/430.0.0.22.118;FBDV/SM-S911B;FBLC/de_DE]
human|WhatsApp|Android|Mobile|Mozilla/5.0 (Linux; Android 16; SM-S911B Build/BP2A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/139.0.0.0 Mobile Safari/537.36 WA4A/2.26.30.97
human|WhatsApp|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 18_7 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.6 Mobile/15E148 Safari/604.1 [WAiOS/2.26.31]
human|Gemini|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 26_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 GoogleWv/1.0 (WKWebView) GeminiiOS/1.2026.2270600
human|Reddit|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_4 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Reddit/Version 2024.17.0/Build 615413
human|Reddit|Android|Mobile|Mozilla/5.0 (Linux; Android 14; Pixel 8 Build/UQ1A; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/130.0.0.0 Mobile Safari/537.36 RedditAndroid/2024.40.0
human|Samsung Internet|Tizen|TV|Mozilla/5.0 (SMART-TV; LINUX; Tizen 6.0) AppleWebKit/537.36 (KHTML, like Gecko) 76.0.3809.146/6.0 TV Safari/537.36 SamsungBrowser/2.2
human|Chrome|webOS|TV|Mozilla/5.0 (Web0S; Linux/SmartTV) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/79.0.3945.79 Safari/537.36 WebAppManager
human|Chrome|Android|TV|Mozilla/5.0 (Linux; Android 10; BRAVIA 4K UR2 Build/QTG3.200305.006.S292; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/112.0.5615.136 Mobile Safari/537.36
human|Safari|tvOS|TV|Mozilla/5.0 (AppleTV; CPU tvOS 16_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/16.1 Safari/605.1.15
human|NetFront|PlayStation|Console|Mozilla/5.0 (PLAYSTATION 3; 3.55)
human|Safari|PlayStation|Console|Mozilla/5.0 (PlayStation; PlayStation 5/6.00) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/15.4 Safari/605.1.15
human|NetFront|Nintendo|Console|Mozilla/5.0 (Nintendo Switch; WifiWebAuthApplet) AppleWebKit/606.4 (KHTML, like Gecko) NF/6.0.1.15.4 NintendoBrowser/5.1.0.20393
human|NetFront|Nintendo|Console|Mozilla/5.0 (Nintendo WiiU) AppleWebKit/536.30 (KHTML, like Gecko) NX/3.0.4.2.12 NintendoBrowser/4.3.1.11264.US
human|Samsung Internet|Tizen|Watch|Mozilla/5.0 (Linux; Tizen 2.3.2; SAMSUNG SM-R760) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/0.9 Version/2.3 Mobile Safari/537.36
human|Chromium|Linux|Other|Mozilla/5.0 (X11; GNU/Linux) AppleWebKit/537.36 (KHTML, like Gecko) Chromium/79.0.3945.130 Chrome/79.0.3945.130 Safari/537.36 Tesla/2020.16.2.1-e99c70fff409
tool|Unknown|Unknown|Other|
tool|Unknown|Unknown|Other|-
tool|Unknown|Unknown|Other|Mozilla/5.0
tool|Unknown|Unknown|Other|Mozilla/4.0 (compatible;)
tool|Unknown|Unknown|Other|My Own Program
tool|Unknown|Unknown|Other|DownloadHelper/3.1 (internal)
tool|curl|Unknown|Other|curl/8.4.0
tool|curl|Unknown|Other|curl/7.64.1
tool|Wget|Unknown|Other|Wget/1.21.3
tool|Wget|Linux|Other|Wget/1.20.3 (linux-gnu)
tool|HTTPie|Unknown|Other|HTTPie/3.2.1
tool|aria2|Unknown|Other|aria2/1.36.0
tool|Python Requests|Unknown|Other|python-requests/2.31.0
tool|Python urllib|Unknown|Other|Python-urllib/3.11
tool|Python HTTPX|Unknown|Other|python-httpx/0.25.1
tool|Python|Unknown|Other|Python/3.11 aiohttp/3.8.6
tool|Go|Unknown|Other|Go-http-client/1.1
tool|Go|Unknown|Other|Go-http-client/2.0
tool|Go|Unknown|Other|go-resty/2.7.0 (https://github.com/go-resty/resty)
tool|Java|Unknown|Other|Java/17.0.8
tool|Java|Unknown|Other|Apache-HttpClient/4.5.14 (Java/17.0.6)
tool|OkHttp|Unknown|Other|okhttp/4.11.0
tool|Android app|Android|Other|Dalvik/2.1.0 (Linux; U; Android 13; CUBOT_P80 Build/TP1A.220624.014)
tool|Apple app|iOS|Other|MyApp/12 CFNetwork/1410.0.3 Darwin/22.6.0
tool|Apple media player|iOS|Other|AppleCoreMedia/1.0.0.20G75 (iPhone; U; CPU OS 16_6 like Mac OS X; de_de)
tool|Node.js|Unknown|Other|axios/1.6.0
tool|Node.js|Unknown|Other|node-fetch/1.0 (+https://github.com/bitinn/node-fetch)
tool|Node.js|Unknown|Other|got (https://github.com/sindresorhus/got)
tool|Node.js|Unknown|Other|undici
tool|PHP|Unknown|Other|GuzzleHttp/7
tool|Ruby|Unknown|Other|Ruby
tool|Ruby|Linux|Other|rest-client/2.1.0 (linux-gnu x86_64) ruby/2.7.4p191
tool|Perl|Unknown|Other|libwww-perl/6.67
tool|Rust|Unknown|Other|reqwest/0.11.22
tool|PowerShell|Windows|Other|Mozilla/5.0 (Windows NT; Windows NT 10.0; de-DE) WindowsPowerShell/5.1.19041.3570
tool|PowerShell|Windows|Other|Mozilla/5.0 (Windows NT 10.0; Microsoft Windows 10.0.22621; en-US) PowerShell/7.3.8
tool|Postman|Unknown|Other|PostmanRuntime/7.35.0
tool|Insomnia|Unknown|Other|insomnia/2023.5.8
tool|VLC|Unknown|Other|VLC/3.0.18 LibVLC/3.0.18
tool|Git|Unknown|Other|git/2.39.2
preview|Slackbot|Unknown|Other|Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)
preview|Slackbot|Unknown|Other|Slackbot 1.0 (+https://api.slack.com/robots)
preview|Slackbot|Unknown|Other|Slack-ImgProxy (+https://api.slack.com/robots)
preview|Facebook|Unknown|Other|facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)
preview|Facebook|Unknown|Other|facebookexternalhit/1.1
preview|Facebook|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_11_1) AppleWebKit/601.2.4 (KHTML, like Gecko) Version/9.0.1 Safari/601.2.4 facebookexternalhit/1.1 Facebot Twitterbot/1.0
preview|LINE|Unknown|Other|facebookexternalhit/1.1;line-poker/1.0
preview|Twitterbot|Unknown|Other|Twitterbot/1.0
preview|WhatsApp|Unknown|Other|WhatsApp/2.23.20.0 A
preview|WhatsApp|Unknown|Other|WhatsApp/2.2347.52 W
preview|WhatsApp|Unknown|Other|WhatsApp/2
preview|Telegram|Unknown|Other|TelegramBot (like TwitterBot)
preview|Discord|Unknown|Other|Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)
preview|LinkedIn|Unknown|Other|LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient +http://www.linkedin.com)
preview|Skype|Unknown|Other|Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5 skype-url-preview@microsoft.com
preview|Reddit|Unknown|Other|Mozilla/5.0 (compatible; redditbot/1.0; +http://www.reddit.com/feedback)
preview|VK|Unknown|Other|Mozilla/5.0 (compatible; vkShare; +http://vk.com/dev/Share)
preview|Viber|Unknown|Other|Viber/13.9.1.10 CFNetwork/1240.0.4 Darwin/20.6.0
preview|Discourse|Unknown|Other|Discourse Forum Onebox v2.8.0.beta8
preview|Nextcloud|Unknown|Other|Nextcloud Server Crawler
preview|Mastodon|Unknown|Other|Lemmy/0.19.3; +https://lemmy.example
preview|Mastodon|Unknown|Other|SummalyBot/5.1.0
preview|Mastodon|Unknown|Other|gotosocial/0.13.0 (+https://social.example)
preview|Revolt|Unknown|Other|Mozilla/5.0 (compatible; January/1.0; +https://github.com/revoltchat/january)
preview|Medium|Unknown|Other|Mediumbot-MetaTagFetcher/0.3 (+https://medium.com/)
preview|OK|Unknown|Other|OdklBot/1.0 (klass@odnoklassniki.ru)
preview|Tumblr|Unknown|Other|Tumblr/14.0.835.186
preview|Iframely|Unknown|Other|Iframely/1.3.1 (+https://iframely.com/docs/about)
preview|Embedly|Unknown|Other|Mozilla/5.0 (compatible; Embedly/0.2; +http://support.embed.ly/)
preview|Mastodon|Unknown|Other|http.rb/5.1.1 (Mastodon/4.2.1; +https://mastodon.social/)
preview|Bluesky|Unknown|Other|Mozilla/5.0 (compatible; Bluesky Cardyb/1.1; +mailto:support@bsky.app)
preview|Matrix|Unknown|Other|Synapse (bot; +https://github.com/matrix-org/synapse)
preview|KakaoTalk|Unknown|Other|facebookexternalhit/1.1; kakaotalk-scrap/1.0; +https://devtalk.kakao.com/t/scrap/33984
preview|Unknown|Unknown|Other|Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/81.0.4044.138 Safari/537.36 Snap URL Preview Service; bot; snapchat; https://developers.snap.com/robots
preview|Microsoft Office|Unknown|Other|Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 10.0; Win64; x64; Trident/7.0; .NET4.0C; ms-office)
preview|Microsoft Office|Unknown|Other|Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.16827; Pro)
bot|Googlebot|Unknown|Other|Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
bot|Googlebot|Unknown|Other|Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/119.0.6045.105 Mobile Safari/537.36 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)
bot|Googlebot|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Googlebot/2.1; +http://www.google.com/bot.html) Chrome/119.0.6045.105 Safari/537.36
bot|Google|Unknown|Other|Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/114.0.5735.179 Mobile Safari/537.36 (compatible; GoogleOther)
bot|Google|Unknown|Other|Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)
bot|Google|Unknown|Other|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/104.0.5112.79 Safari/537.36 Google-Read-Aloud (+https://support.google.com/webmasters/answer/1061943)
bot|Google|Unknown|Other|AdsBot-Google (+http://www.google.com/adsbot.html)
bot|Bingbot|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/103.0.5060.134 Safari/537.36
bot|Bingbot|Unknown|Other|Mozilla/5.0 (Windows NT 6.1; WOW64) AppleWebKit/534+ (KHTML, like Gecko) BingPreview/1.0b
bot|DuckDuckBot|Unknown|Other|DuckDuckBot/1.1; (+http://duckduckgo.com/duckduckbot.html)
bot|YandexBot|Unknown|Other|Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)
bot|Unknown|Unknown|Other|SafeLinks
bot|Unknown|Unknown|Other|ProofpointURLDefense/1.0
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; YandexImages/3.0; +http://yandex.com/bots)
bot|Baiduspider|Unknown|Other|Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)
bot|Applebot|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_5) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/13.1.1 Safari/605.1.15 (Applebot/0.1; +http://www.apple.com/go/applebot)
bot|Amazonbot|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_1) AppleWebKit/600.2.5 (KHTML, like Gecko) Version/8.0.2 Safari/600.2.5 (Amazonbot/0.1; +https://developer.amazon.com/support/amazonbot)
bot|PetalBot|Unknown|Other|Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)
bot|Bytespider|Unknown|Other|Mozilla/5.0 (Linux; Android 5.0) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; Bytespider; spider-feedback@bytedance.com)
bot|AhrefsBot|Unknown|Other|Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)
bot|SemrushBot|Unknown|Other|Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)
bot|MJ12bot|Unknown|Other|Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)
bot|DotBot|Unknown|Other|Mozilla/5.0 (compatible; DotBot/1.2; +https://opensiteexplorer.org/dotbot; help@moz.com)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; BLEXBot/1.0; +http://webmeup-crawler.com/)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; Yahoo! Slurp; http://help.yahoo.com/help/us/ysearch/slurp)
bot|Unknown|Unknown|Other|Sogou web spider/4.0(+http://www.sogou.com/docs/help/webmasters.htm#07)
bot|Unknown|Unknown|Other|Pinterest/0.2 (+https://www.pinterest.com/bot.html)
bot|OpenAI|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.0; +https://openai.com/gptbot)
bot|OpenAI|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko); compatible; ChatGPT-User/1.0; +https://openai.com/bot
bot|Anthropic|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; ClaudeBot/1.0; +claudebot@anthropic.com)
bot|Anthropic|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; Claude-User/1.0; +Claude-User@anthropic.com)
bot|Perplexity|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; PerplexityBot/1.0; +https://perplexity.ai/perplexitybot)
bot|Meta|Unknown|Other|meta-externalagent/1.1 (+https://developers.facebook.com/docs/sharing/webmasters/crawler)
bot|Common Crawl|Unknown|Other|CCBot/2.0 (https://commoncrawl.org/faq/)
bot|Unknown|Unknown|Other|FacebookBot/1.0
bot|UptimeRobot|Unknown|Other|Mozilla/5.0+(compatible; UptimeRobot/2.0; http://www.uptimerobot.com/)
bot|Unknown|Unknown|Other|Pingdom.com_bot_version_1.4_(http://www.pingdom.com/)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; StatusCake)
bot|Unknown|Unknown|Other|Uptime-Kuma/1.23.3
bot|Unknown|Unknown|Other|ELB-HealthChecker/2.0
bot|Unknown|Unknown|Other|kube-probe/1.27
bot|Unknown|Unknown|Other|check_http/v2.3.1 (monitoring-plugins 2.3.1)
bot|Unknown|Unknown|Other|Amazon-Route53-Health-Check-Service (ref 1234; report http://amzn.to/1vsZADi)
bot|Unknown|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/109.0.0.0 Safari/537.36 Chrome-Lighthouse
bot|Unknown|Unknown|Other|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/119.0.0.0 Safari/537.36
bot|Unknown|Unknown|Other|Mozilla/5.0 (Unknown; Linux x86_64) AppleWebKit/538.1 (KHTML, like Gecko) PhantomJS/2.1.1 Safari/538.1
bot|Unknown|Unknown|Other|Scrapy/2.11.0 (+https://scrapy.org)
bot|Unknown|Unknown|Other|python-requests/2.31.0 examplebot (+https://bots.example/about)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; CensysInspect/1.1; +https://about.censys.io/)
bot|Unknown|Unknown|Other|Expanse, a Palo Alto Networks company, searches across the global IPv4 space multiple times per day to identify customers' presences on the Internet.
bot|Unknown|Unknown|Other|Mozilla/5.0 zgrab/0.x
bot|Unknown|Unknown|Other|sqlmap/1.7.2#stable (https://sqlmap.org)
bot|Unknown|Unknown|Other|Mozilla/5.00 (Nikto/2.1.6) (Evasions:None) (Test:Port Check)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; Nmap Scripting Engine; https://nmap.org/book/nse.html)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; Nuclei - Open-source project (github.com/projectdiscovery/nuclei))
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/details/archive.org_bot)
bot|Unknown|Unknown|Other|Mozilla/4.5 (compatible; HTTrack 3.0x; Windows 98)
bot|Feedly|Unknown|Other|Feedly/1.0 (+http://www.feedly.com/fetcher.html; like FeedFetcher-Google)
bot|Unknown|Unknown|Other|WordPress/6.3.2; https://blog.example
bot|Unknown|Unknown|Other|W3C_Validator/1.3 http://validator.w3.org/services
bot|Unknown|Unknown|Other|Chrome Privacy Preserving Prefetch Proxy
bot|Flipboard|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10.9; rv:28.0) Gecko/20100101 Firefox/28.0 (FlipboardProxy/1.2; +http://flipboard.com/browserproxy)
bot|Yahoo|Unknown|Other|YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html
preview|Steam|Unknown|Other|Valve/Steam HTTP Client 1.0 (SteamChatURLLookup)
preview|Hatena|Unknown|Other|HatenaBookmark/4.0 (Hatena::Bookmark; Analyzer)
preview|Hatena|Unknown|Other|Hatena::Fetcher/0.01 (master) Furl/3.13
preview|Fastmail|Unknown|Other|FastmailUA/1.0
preview|GitHub|Unknown|Other|github-camo (c006e452)
preview|Shortwave|Unknown|Other|Shortwave Image Fetcher
preview|WhatsApp|Unknown|Other|WhatsApp
preview|Viber|Unknown|Other|Viber
bot|Google|Unknown|Other|Mozilla/5.0 (Linux; Android 8.0; Pixel 2 Build/OPD3.170816.012; Storebot-Google/1.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/81.0.4044.138 Mobile Safari/537.36
bot|Google|Unknown|Other|Mozilla/5.0 AppleWebKit/537.36 Chrome/139.0.7258.127 Safari/537.36 Google-Ads-Conversions
bot|Unknown|Unknown|Other|Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/49.0.2623.75 Safari/537.36 Google Favicon
bot|Meta|Unknown|Other|meta-externalads/1.1
bot|Unknown|Unknown|Other|Mozilla/4.0 (compatible; MSIE 7.0; Windows NT 5.0) LinkCheck by Siteimprove.com
bot|Unknown|Unknown|Other|Mozilla/5.0 (Macintosh; Intel Mac OS X 10_14_6) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/97.0.4692.71 Safari/537.36 (ThousandEyes Agent)
bot|Unknown|Unknown|Other|Mozilla/5.0 (compatible; MSIE 9.0; Windows NT 6.1; Trident/5.0; AppInsights)
bot|Unknown|Unknown|Other|Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1; Netcraft SSL Server Survey - contact info@netcraft.com)
bot|Unknown|Unknown|Other|Mozilla/5.0 (Windows NT 5.1) brokenlinkcheck.com/1.2
bot|Unknown|Unknown|Other|UM-Bentley-Archive-It
bot|Unknown|Unknown|Other|updown.io daemon 2.11
bot|Unknown|Unknown|Other|larbin_2.6.2 (larbin@correa.org)
human|Instagram|iOS|Mobile|Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148 Instagram 334.0.4.32.98 (iPhone14,5; iOS 17_5; de_DE; de; scale=3.00; 1170x2532; 612345678)
human|Chrome|Android|Mobile|Mozilla/5.0 (Linux; Android 16; Pixel 10 Pro XL Build/CP1A.260305.018; wv) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0 Chrome/146.0.7680.174 Mobile Safari/537.36 MetaIAB Facebook
"""
